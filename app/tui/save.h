// Writes what is looked at to files.
#pragma once

#include <string>

#include "app/tui/state.h"

namespace maskctl::app::tui {

/// Begins to write, beside the screens, to "FILE.png" (.svg, .html, .txt, .ansi) what is drawn, to
/// "@FILE" the pipeline, one step a line, to other names the mask of all heads. An existing file is
/// asked about without `replace`. Throws Error without a name, and while another file is being
/// written.
void save(State& state, const Workbench& bench, const std::string& dest, bool replace);

}  // namespace maskctl::app::tui
