// Why masks differ, ready to be printed: the arrays that pipelines read have names and, where the
// user gave a file for them, are written.
#pragma once

#include <string>
#include <vector>

#include "app/reports/report.h"
#include "app/session/session.h"

namespace maskctl::app {

/// Writes the arrays of all pipelines to `dest`, a file, unless it is empty. What goes wrong with
/// that is a note, and so is that arrays are not written; the causes stay the same.
std::vector<CauseReport> cause_reports(std::vector<DiffCause> causes, const std::string& dest,
                                       bool force, Session& session);

}  // namespace maskctl::app
