// The result of `verify` as text and JSON.
#pragma once

#include <optional>
#include <string>

#include "app/reports/json_value.h"
#include "app/reports/report.h"
#include "maskctl/verify/solve/explain.h"

namespace maskctl::app {

struct VerifyReport {
  std::string operation;
  attention::FullVerdict found;
  std::optional<CauseReport> cause;  // why the solved mask differs, if that is known
};

std::string verify_text(const VerifyReport& report);
/// {"schema": "maskctl.verify/1", ...}.
Json verify_json(const VerifyReport& report);

}  // namespace maskctl::app
