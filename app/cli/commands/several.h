// Commands that answer for each of several SOURCEs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/session/options.h"

namespace maskctl::app {

/// One answer as it is. Several as text: below each other, each under "SOURCE:" unless it begins
/// with that. As JSON:
/// {"schema": "maskctl.list/1", "reports": [...]}, with {"source", "error"} for what could not be
/// read, which makes the status 2; else it is the largest of the answers. See visit_sources().
Answer answer_each(const std::vector<std::string>& sources, const SourceOptions& how, bool json,
                   Session& session, const std::function<Answer(const std::string&)>& answer);

}  // namespace maskctl::app
