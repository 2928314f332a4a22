// Everything that may be wrong with a mask, and where: lines that lead to their cells.
#pragma once

#include <vector>

#include "app/session/mask_lint.h"
#include "app/tui/reports.h"

namespace maskctl::app::tui {

/// What check says of a scene.
MaskLint lint_of(const Scene& scene);

/// What check says, leaks by pairs of documents, regions of difference, the cells that no rule
/// explains. What is not known says what would make it known.
std::vector<ReportLine> findings_lines(const Scene& scene);

/// The documents along the queries, and who leaks into them; of the first batches.
std::vector<ReportLine> documents_lines(const Scene& scene);

}  // namespace maskctl::app::tui
