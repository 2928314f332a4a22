// What differs between the masks of two captured runs, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "app/reports/report.h"
#include "maskctl/inspect/diff/captured.h"

namespace maskctl::app {

struct CapturedReport {
  std::string a, b;  // their SOURCEs
  Index layers_a = 0, layers_b = 0;
  CapturedDiff diff;
  std::vector<CauseReport> causes;  // of the differences that have one, in their order
};

/// `all`: pipelines in full, however long.
std::string captured_text(const CapturedReport& report, bool all);
/// {"schema": "maskctl.diff-runs/1", ...}
Json captured_json(const CapturedReport& report);

}  // namespace maskctl::app
