// Runs a command that gives one answer for each of several SOURCEs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/session/options.h"

namespace maskctl::app {

/// Calls `answer` for each SOURCE, or each mask in a container, as visit_sources() does. One answer
/// is returned unchanged, unless its SOURCE is a folder or a pattern. Several are joined: as text,
/// each below a line "SOURCE:", or behind it if it is one line, unless its text begins with the
/// SOURCE; as JSON, {"schema":
/// "maskctl.list/1", "reports": [...]}, with {"source", "error"} for a SOURCE that could not be
/// read. The status is the largest of the answers, or 2 if a SOURCE could not be read.
Answer answer_each(const std::vector<std::string>& sources, const SourceOptions& how, bool json,
                   Session& session, const std::function<Answer(const std::string&)>& answer);

}  // namespace maskctl::app
