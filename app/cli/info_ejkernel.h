// What `info` says about a MaskInfo: the seed's properties, and how a mesh of devices splits it.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "app/cli/report.h"

namespace maskctl::app {

/// Each property read on a copy of its own, since reading one may change the next.
MaskInfoReport report_of(const MaskInfo& info);
/// The axis names of --axes put in place of those that `info` has.
MaskInfo with_axes(const MaskInfo& info, const std::string& axes);
/// Axes that the mesh lacks are dropped with a note, unless --strict.
MeshReport mesh_report(const MaskInfo& info, const InfoOptions& options,
                       const GlobalOptions& globals);

/// Lines under the heading of a source.
std::string mask_info_text(const MaskInfoReport& report);
std::string mesh_text(const MeshReport& report);

}  // namespace maskctl::app
