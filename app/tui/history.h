// Changes of the pipeline, which can be undone. Their masks are made beside the screens.
#pragma once

#include <string>

#include "app/tui/state.h"

namespace maskctl::app::tui {

/// Lets undo return to this version, and forgets what could be redone.
void remember(State& state, Version version);
/// False, and a message, while another change is being made.
bool can_change(State& state);
/// Begins to make the mask after this pipeline. `step` is selected when it is made.
void change_pipeline(State& state, const std::string& pipeline, std::optional<Index> step = {});
/// Change to the version before, or after, this one; set a message if there is none.
void undo(State& state);
void redo(State& state);

/// Makes the change that is pending if its mask is there by `end`; stops what is made for none.
/// Throws as Workbench::scene(), and changes nothing then; what is wrong with a pipeline that is
/// being typed becomes a message.
void follow_change(State& state, Workbench& bench, Time end);

}  // namespace maskctl::app::tui
