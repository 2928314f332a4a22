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
  Index rows = 0, untold = 0;   // rows of the mask, and those of which no cell is decided
};

/// The exit status: 1 if a decided cell differs from the declared mask. Else 2 if some rows could
/// not be solved, some cells are ambiguous because another key explains the output as well, or no
/// cell is decided in at least half of the rows. Else 0: other cells whose weight is below the
/// rounding do not count.
int solved_status(const SolvedReport& report);
std::string solved_text(const SolvedReport& report);
/// {"schema": "maskctl.verify/1", ...} with a member "solved".
std::string solved_json(const SolvedReport& report);

}  // namespace maskctl::app
