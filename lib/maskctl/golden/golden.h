// Golden masks: what a mask was once, and whether it still is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "maskctl/golden/manifest.h"
#include "maskctl/inspect/expect.h"
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
  /// The mask of an entry after its transforms. What it throws is the entry's error.
  std::function<Mask(const GoldenEntry&)> load;
  /// The mask of a file that `array` names.
  std::function<Mask(const std::string& file)> load_array;
  /// The answers to the expectations of an entry (kHolds).
  std::function<std::vector<Expected>(const GoldenEntry&, const Mask&)> expectations;
  /// Whether the kernel's run of an entry obeys its mask (kVerdict).
  std::function<GoldenResult(const GoldenEntry&)> judge;
  /// Write what a mask is now beside the golden file that it does not match: FILE.new before the
  /// suffix, as mask.new.npy.
  bool write_new = false;
};

/// Compares one entry. Reports errors in the result and throws none but std::bad_alloc.
GoldenResult check_golden(const GoldenEntry& entry, const GoldenContext& context);

/// Writes the golden file of an entry, or gives the digest to put into the manifest.
/// Throws what loading and writing throw, and Error(kInvalidArgument) for expectations and verdicts
/// that do not hold: nothing can be written that makes them hold.
struct GoldenUpdate {
  bool changed = false;
  std::string digest;  // of kSha256
};
GoldenUpdate update_golden(const GoldenEntry& entry, const GoldenContext& context);

/// The figures that `stats` compares, as JSON with one key a line.
std::string golden_stats(const Mask& mask);

}  // namespace maskctl
