// Golden masks: what a mask once was, and whether it still is the same.
#pragma once

#include <functional>
#include <string>
#include <vector>

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
  /// Evaluates the expectations of an entry (kHolds).
  std::function<std::vector<ExpectationResult>(const GoldenEntry&, const Mask&)> expectations;
  /// Checks whether the recorded run of a kernel obeys the mask of the entry (kVerdict).
  std::function<GoldenResult(const GoldenEntry&)> judge;
  /// Write the current mask next to a golden file that it does not match, as FILE.new before the
  /// suffix: mask.new.npy.
  bool write_new = false;
};

/// Compares one entry. Errors are reported in the result; throws only std::bad_alloc.
GoldenResult check_golden(const GoldenEntry& entry, const GoldenContext& context);

/// Writes the golden file of an entry, or returns the digest to put into the manifest. Throws
/// whatever loading and writing throw, and Error(kInvalidArgument) for expectations and verdicts
/// that do not hold, as writing cannot make them hold.
struct GoldenUpdate {
  bool changed = false;
  std::string digest;  // for kSha256
};
GoldenUpdate update_golden(const GoldenEntry& entry, const GoldenContext& context);

/// The figures that `stats` compares, as JSON with one key per line.
std::string golden_stats(const Mask& mask);

}  // namespace maskctl
