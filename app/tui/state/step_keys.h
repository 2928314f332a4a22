// Handles keys for the selected step of the pipeline.
#pragma once

#include "app/tui/state/state.h"

namespace maskctl::app::tui {

/// Selects the last step, or unselects if a step is selected. If there are no steps, asks the user
/// to type one.
void select_steps(State& state);
void take_step_key(State& state, StepKey key, Index times);

}  // namespace maskctl::app::tui
