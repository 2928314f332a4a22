// The mask that the fixes of findings make, where they are known from the mask and what is given
// with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/check/check.h"

namespace maskctl {

/// A fix that was applied, and how many cells it closed and opened; the numbers are absent if it
/// changed the shape of the mask. Its finding is then gone, which does not say that the cells are
/// what they should be: a fault may have another cause.
struct FixDone {
  const LintRule* rule = nullptr;
  std::optional<Index> closed, opened;
};

/// An error or a warning that the fixed mask has, and why.
struct FixLeft {
  Finding finding;
  std::string why;
};

struct FixResult {
  /// The mask in place of CheckedMask::start, and what was read with it; unchanged if `done` is
  /// empty.
  CheckedMask fixed;
  std::vector<FixDone> done;  // in the order in which they were applied
  std::vector<FixLeft> left;
  /// Errors and warnings that are no longer found, though no fix of theirs was applied.
  std::vector<const LintRule*> gone;
  std::vector<NotLookedAt> not_looked_at;  // by check() of the fixed mask
};

/// Applies the fixes of errors and warnings, one after another: each time the one that leaves the
/// fewest of them and, of these, changes the most cells, since one fault may be the cause of
/// several findings. A fix counts as done only if check() of the fixed mask no longer reports this
/// finding, no old one with more cells, and no new error or warning about rows that it changed. One
/// about other rows, which the finding had hidden, is left. `found` is check(given); there must be
/// no steps in `given`. Throws like check().
FixResult fix(const CheckedMask& given, const CheckResult& found);

}  // namespace maskctl
