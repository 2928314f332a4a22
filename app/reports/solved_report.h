// The result of `verify --solve` as text and JSON.
#pragma once

#include <optional>
#include <string>

#include "app/reports/json_value.h"
#include "app/reports/report.h"
#include "maskctl/verify/solve/explain.h"

namespace maskctl::app {

struct SolvedReport {
  std::string operation;
  attention::SolvedVerdict found;
  std::optional<CauseReport> cause;
  std::string no_cause;  // why no cause is known, if the masks differ
};

std::string solved_text(const SolvedReport& report);
/// The lines of solved_text() that stand below another verdict: the cells, their cause, and what is
/// undecided.
std::string solved_lines(const SolvedReport& report);
/// {"schema": "maskctl.verify/1", ...} with a member "solved".
Json solved_json(const SolvedReport& report);
/// That member alone.
Json solved_part_json(const SolvedReport& report);

}  // namespace maskctl::app
