// Writes what is looked at to files.
#pragma once

#include <string>

#include "app/tui/state.h"

namespace maskctl::app::tui {

/// To "FILE.png" (.svg, .html, .txt, .ansi) what is drawn, to "@FILE" the pipeline, one step a
/// line, to other names the mask of all heads. Throws Error, also for an existing file without
/// `replace`.
void save(State& state, const Workbench& bench, const std::string& dest, bool replace);

}  // namespace maskctl::app::tui
