// The mask that the fixes of findings make, where they are known from the mask and what is given
// with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/check/check.h"

namespace maskctl {

/// A finding that is gone, and how many cells its fix closed and opened. They are absent where it
/// gave the mask another shape.
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

/// Applies the fixes of errors and warnings, one after another. One counts as done only if check()
/// of the fixed mask has neither this finding any more, nor an error or a warning that was not
/// there, nor more cells of one that was; one that it had hidden is fixed with it. No key is opened
/// but what a fix names. `found` is check(given); there must be no steps in `given`. Throws like
/// check().
FixResult fix(const CheckedMask& given, const CheckResult& found);

}  // namespace maskctl
