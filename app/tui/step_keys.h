// Keys on the selected step of the pipeline.
#pragma once

#include "app/tui/state.h"

namespace maskctl::app::tui {

/// Selects the last step, or none if one is selected; asks for a first step if there is none.
void select_steps(State& state);
void take_step_key(State& state, StepKey key, Index times);

}  // namespace maskctl::app::tui
