// What a key does to the state.
#pragma once

#include "app/tui/actions.h"
#include "app/tui/input.h"
#include "app/tui/state.h"

namespace maskctl::app::tui {

/// A state that shows the whole mask.
State first_state(ScenePtr scene, const Screen& screen);

/// The state after one input. The workbench makes the scenes of changed pipelines. What goes wrong
/// becomes a message.
State update(State state, const Input& input, Workbench& bench);
/// Goes on with what waited until more was known. True if the state is another now.
bool go_on(State& state);
/// The state after nothing has been typed for a while: what was typed last is shown, and what was
/// changed, if that is made by `end`.
State after_pause(State state, Workbench& bench, Time end);

}  // namespace maskctl::app::tui
