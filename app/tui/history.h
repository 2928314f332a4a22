// Changes of the pipeline that can be undone.
#pragma once

#include <string>

#include "app/tui/state.h"

namespace maskctl::app::tui {

/// Lets undo return to this version, and forgets what could be redone.
void remember(State& state, Version version);
/// Shows the mask after this pipeline, which can be undone. Throws as Workbench::scene(), and
/// changes nothing then.
void change_pipeline(State& state, Workbench& bench, const std::string& pipeline);
/// To the version before or after this one; a message if there is none. Throws the same.
void undo(State& state, Workbench& bench);
void redo(State& state, Workbench& bench);

}  // namespace maskctl::app::tui
