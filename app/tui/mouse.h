// What the mouse does to the state: a click chooses, a drag scrolls, the wheel moves.
#pragma once

#include "app/tui/state/input.h"
#include "app/tui/state/state.h"

namespace maskctl::app::tui {

bool is_of_mouse(const Input& input);

/// Applies a click, a drag or a turn of the wheel to what is seen: the list if it is shown, else
/// the mask or the overview of it. Clicks elsewhere do nothing.
void take_mouse(State& state, const Input& input);

}  // namespace maskctl::app::tui
