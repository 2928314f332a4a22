// Applies an input to the state.
#pragma once

#include "app/tui/state/actions.h"
#include "app/tui/state/input.h"
#include "app/tui/state/state.h"

namespace maskctl::app::tui {

/// The initial state, in which the whole mask is visible.
State first_state(ScenePtr scene, const Screen& screen);

/// The state after one input. `bench` makes the scenes of changed pipelines. Errors become
/// messages.
State update(State state, const Input& input, Workbench& bench);
/// Continues what was waiting for background work. True if the state has changed.
bool go_on(State& state);
/// The state after a pause in typing: starts a preview of the typed pipeline, and shows a pending
/// change if its mask is made by `end`.
State after_pause(State state, Workbench& bench, Time end);

}  // namespace maskctl::app::tui
