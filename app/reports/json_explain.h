// The JSON forms of why, translate and audit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/reports/documents_report.h"
#include "app/reports/json_value.h"
#include "maskctl/inspect/count/audit.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/translate/translate.h"

namespace maskctl::app {

/// {"schema": "maskctl.why/1", ...} and a newline.
Json why_json(const std::string& source, const Why& why,
              const std::optional<CellDocuments>& documents);

/// {"schema": "maskctl.audit/1", ...}
Json audit_json(const std::string& source, const std::string& map, const Mask& mask,
                const BlockAudit& audit);

/// A mask and its code for each library. `layers` names the layers of the model that use the mask;
/// empty without a model.
struct TranslateReport {
  std::string layers;
  std::optional<std::string> pipeline;  // absent: the mask of these layers is unknown
  std::string meaning;
  std::vector<Translation> translations;
};
/// The argument of a convention with `w` in place of each letter W, and the keys that a query far
/// from both ends then sees.
std::string argument_of(const WindowConvention& row, Index w);
Index keys_of_window(const WindowConvention& row, Index w);
/// {"schema": "maskctl.translate-table/1", ...}: what a window of `w` is in each library, and all
/// arguments of all calls.
Json windows_json(Index w);
Json conventions_json();

/// {"schema": "maskctl.translate/1", ...}
Json translate_json(const std::vector<TranslateReport>& reports);

}  // namespace maskctl::app
