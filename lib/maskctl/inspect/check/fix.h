// The mask that the fixes of findings make, where they are known from the mask and what is given
// with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/check/check.h"

namespace maskctl {

/// A finding that was fixed, and how many cells the fix closed and opened. The numbers are absent
/// if the fix changed the shape of the mask.
struct FixDone {
  const LintRule* rule = nullptr;
  std::optional<Index> closed, opened;
};

/// An error or a warning that the fixed mask still has, and why.
struct FixLeft {
  Finding finding;
  std::string why;
};

struct FixResult {
  /// The mask in place of CheckedMask::start, and what was read with it; unchanged if `done` is
  /// empty.
  CheckedMask fixed;
  std::vector<FixDone> done;  // in the order in which they were fixed
  std::vector<FixLeft> left;
};

/// Applies the fixes of errors and warnings, one after another. A fix counts as done only if
/// check() of the fixed mask no longer reports this finding, reports no new error or warning, and
/// no old one with more cells; findings that it had hidden are fixed with it. A fix opens no keys
/// but those that it names. `found` is check(given); there must be no steps in `given`. Throws like
/// check().
FixResult fix(const CheckedMask& given, const CheckResult& found);

}  // namespace maskctl
