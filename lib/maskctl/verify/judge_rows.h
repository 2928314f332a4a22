// Decides from the residuals of rows whether results are those of the declared call or of a
// candidate; private to verify.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/verify/judge.h"
#include "maskctl/verify/residuals.h"

namespace maskctl::attention {

/// A candidate that was tried.
struct Tried {
  std::string text;
  std::optional<Mask> mask = {};  // the mask that it applies, if that is another one
  std::vector<RowResidual> rows;
};

/// The judgement, without `obeyed`. Judgement::fit counts in `tried`.
Judgement judge_rows(const Residuals& residuals, const std::vector<Tried>& tried);

}  // namespace maskctl::attention
