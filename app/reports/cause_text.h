// Why two masks differ, in lines of text.
#pragma once

#include <string>

#include "app/reports/report.h"

namespace maskctl::app {

/// Describes in words why the masks differ. Then lists the pipeline of each mask, or an edit that
/// turns A into B. `all`: pipelines in full, however long.
std::string cause_text(const CauseReport& report, bool all);

}  // namespace maskctl::app
