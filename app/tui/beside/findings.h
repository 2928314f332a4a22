// Reports everything that may be wrong with a mask. Choosing a line of the report shows its cells.
#pragma once

#include <string>
#include <vector>

#include "app/tui/beside/report.h"
#include "app/tui/beside/scene.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::app::tui {

/// A recognised chain in words; where it reads arrays, with the command that saves these.
std::string recognised_text(const Chain& chain);

/// The findings of `check`, the leaks by pairs of documents, the regions in which two SOURCEs
/// differ, and the cells that no rule explains. If something is unknown, a line says which input
/// would make it known.
std::vector<ReportLine> findings_lines(const Scene& scene);

/// The documents along the query axis, each with the number of its leaks. Only the first
/// kMostListed are listed.
std::vector<ReportLine> documents_lines(const Scene& scene);

}  // namespace maskctl::app::tui
