// Builds JSON texts for errors and lists of reports.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace maskctl::app {

/// {"source": ..., "error": ...} and a newline.
std::string error_json(std::string_view source, std::string_view message);
/// {"schema": "maskctl.list/1", "reports": [...]}; `reports` are JSON texts.
std::string json_list(std::span<const std::string> reports);

}  // namespace maskctl::app
