// The result of `verify --solve`, and its text and JSON.
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
  MaskDiff diff;  // between the declared mask (a) and the solved one (b)
  std::optional<CauseReport> cause;
  std::string no_cause;         // why the masks differ and no cause is given
  std::vector<Cell> undecided;  // the first of them
};

/// 1 where a decided cell differs from the declared mask; 2 where none does, and rows or cells
/// could not be told for another reason than that they weigh too little; else 0.
int solved_status(const SolvedReport& report);
std::string solved_text(const SolvedReport& report);
/// maskctl.verify/1, with `solved`.
std::string solved_json(const SolvedReport& report);

}  // namespace maskctl::app
