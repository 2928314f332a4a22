// What `info` says about a MaskInfo: ejkernel's properties, and how a mesh of devices splits it.
#pragma once

#include <string>

#include "app/reports/report.h"
#include "app/session/options.h"
#include "app/session/session.h"

namespace maskctl::app {

/// How a mesh of devices splits the arrays of a MaskInfo.
struct MeshOptions {
  std::string mesh;  // "dp=2+tp=4"; empty: none
  std::string axes;  // "batch=dp,heads=tp"
  bool sequence_parallel = false;
};

/// Reads each property on a separate copy, because reading one may change the next.
MaskInfoReport report_of(const MaskInfo& info);
/// Replaces the axis names of `info` by those of --axes.
MaskInfo with_axes(const MaskInfo& info, const std::string& axes);
/// Drops axes that the mesh lacks, with a note, unless --strict is given.
MeshReport mesh_report(const MaskInfo& info, const MeshOptions& options, Session& session);

/// The lines below the heading of a source.
std::string mask_info_text(const MaskInfoReport& report);
std::string mesh_text(const MeshReport& report);

}  // namespace maskctl::app
