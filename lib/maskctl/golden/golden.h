// Golden masks: what a mask once was, and whether it still is the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/golden/manifest.h"
#include "maskctl/inspect/check/expect.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

struct GoldenResult {
  enum class Status : std::uint8_t { kPassed, kDiffers, kError };
  Status status = Status::kPassed;
  std::string message;  // one line; empty when passed
  std::string cause;    // one line: how it differs, for annotations; may be empty
  std::string detail;   // lines: how many cells, the cause, a drawing; may be empty
};

struct GoldenContext {
  /// Makes the mask of an entry, with its transforms. What it throws becomes the entry's error.
  std::function<Mask(const GoldenEntry&)> load;
  /// Loads the mask of the file in `array`.
  std::function<Mask(const std::string& file)> load_array;
  /// Evaluates the expectations of `holds`.
  std::function<std::vector<ExpectationResult>(const GoldenEntry&, const Mask&,
                                               const std::vector<std::string>& holds)>
      expectations;
  /// Checks whether the recorded run of a kernel obeys the mask of the entry (kVerdict).
  std::function<GoldenResult(const GoldenEntry&)> verdict;
  /// The line for an error, with its remedies in the words of a manifest.
  std::function<std::string(const Error&)> message;
  /// Keep, next to a golden file that the current mask does not match, that mask as FILE.new before
  /// the suffix (mask.new.npy), and remove it where it does match.
  bool write_new = false;
};

/// Compares one entry with all that it is expected to be. Errors are reported in the result; throws
/// only std::bad_alloc.
GoldenResult check_golden(const GoldenEntry& entry, const GoldenContext& context);

/// True if update_golden() has something to write: a file, a digest or the record beside a digest.
/// Throws whatever loading throws, and Error(kInvalidArgument) for expectations and verdicts that
/// do not hold, as writing cannot make them hold.
bool is_outdated(const GoldenEntry& entry, const GoldenContext& context);
/// Writes the golden files of an entry; returns what to put into the manifest, if it has a digest.
std::optional<GoldenValue> update_golden(const GoldenEntry& entry, const GoldenContext& context);

/// The figures that `stats` compares, as JSON with one key per line.
std::string golden_stats(const Mask& mask);

}  // namespace maskctl
