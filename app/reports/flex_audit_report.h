// The result of maskctl.audit_flex() as text and JSON.
#pragma once

#include <string>

#include "app/reports/json_value.h"
#include "maskctl/verify/solve/flex_audit.h"

namespace maskctl::app {

/// Lines on the lists and the output, and the verdict.
std::string flex_audit_text(const attention::FlexAudit& found);
/// {"schema": "maskctl.audit-flex/1", ...}, of a mask_mod that opens `meant`.
Json flex_audit_json(const Mask& meant, const attention::FlexAudit& found);

/// 0 if the three masks are one, 2 if that is not told, else 1.
int status_of(attention::FlexVerdict verdict);

}  // namespace maskctl::app
