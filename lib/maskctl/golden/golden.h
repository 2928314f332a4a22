// Golden masks: checks that a mask is still what it was when it was recorded.
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
  std::string message;  // one line; empty if passed
  std::string cause;    // one line for annotations: how it differs; may be empty
  std::string detail;   // several lines: number of cells, cause, drawing; may be empty
};

struct GoldenContext {
  /// Makes the mask of an entry, including its transforms. If it throws, the entry fails with that
  /// error.
  std::function<Mask(const GoldenEntry&)> load;
  /// Loads the mask that a golden `array` file holds.
  std::function<Mask(const std::string& file)> load_array;
  /// Checks the expectations listed in `holds`.
  std::function<std::vector<ExpectationResult>(const GoldenEntry&, const Mask&,
                                               const std::vector<std::string>& holds)>
      expectations;
  /// Checks whether the recorded run of a kernel used the mask of the entry (kVerdict).
  std::function<GoldenResult(const GoldenEntry&)> verdict;
  /// The text of an error, one line, whose remedies are worded for manifests.
  std::function<std::string(const Error&)> message;
  /// True: when a mask does not match its golden file, write it beside that file, with ".new"
  /// before the suffix (mask.new.npy); when it matches, remove such a file.
  bool write_new = false;
  /// Files are written below this folder, that of the manifest, and nowhere else: a manifest that
  /// came with somebody else's code may name any file. Empty: anywhere.
  std::string folder = {};
};

/// Checks everything that an entry expects of its mask. Errors are reported in the result; only
/// std::bad_alloc is thrown.
GoldenResult check_golden(const GoldenEntry& entry, const GoldenContext& context);

/// True if update_golden() would change a file, a digest or a record of a digest. Throws whatever
/// loading throws, and Error(kInvalidArgument) for an expectation or a verdict that does not hold,
/// because an update cannot change that, and for a golden file outside of context.folder.
bool is_outdated(const GoldenEntry& entry, const GoldenContext& context);
/// Writes the golden files of an entry. If it has a digest, returns the value to write into the
/// manifest.
std::optional<GoldenValue> update_golden(const GoldenEntry& entry, const GoldenContext& context);

/// The numbers that the expectation `stats` compares, as JSON with one key per line.
std::string golden_stats(const Mask& mask);

}  // namespace maskctl
