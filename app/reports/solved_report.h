// The result of `verify --solve` as text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "app/reports/report.h"
#include "maskctl/attention/verify/solve/solve.h"

namespace maskctl::app {

struct SolvedReport {
  std::string operation;
  attention::SolvedMask solved;
  MaskDiff diff;  // compares the declared mask (a) with the solved one (b)
  std::optional<CauseReport> cause;
  std::string no_cause;         // why no cause is known, if the masks differ
  std::vector<Cell> undecided;  // the first undecided cells
};

/// The exit status: 1 if a decided cell differs from the declared mask. Else 2 if some rows could
/// not be solved, or some cells are ambiguous because another key explains the output as well. Else
/// 0; cells whose weight is below the rounding do not count.
int solved_status(const SolvedReport& report);
std::string solved_text(const SolvedReport& report);
/// {"schema": "maskctl.verify/1", ...} with a member "solved".
std::string solved_json(const SolvedReport& report);

}  // namespace maskctl::app
