// What `info` prints about a MaskInfo.
#pragma once

#include <string>

#include "app/reports/report.h"

namespace maskctl::app {

/// The lines below the heading of a source.
std::string mask_info_text(const MaskInfoReport& report);
std::string mesh_text(const MeshReport& report);

}  // namespace maskctl::app
