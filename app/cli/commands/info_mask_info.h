// The text that `info` prints about a MaskInfo.
#pragma once

#include <string>

#include "app/reports/report.h"

namespace maskctl::app {

/// Returns the lines about a MaskInfo that `info` prints below the name of the SOURCE.
std::string mask_info_text(const MaskInfoReport& report);
std::string mesh_text(const MeshReport& report);

}  // namespace maskctl::app
