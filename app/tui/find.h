// Searching: leaks, empty rows, partial tiles, borders of segments, differences.
#pragma once

#include <optional>

#include "app/tui/actions.h"
#include "app/tui/state.h"

namespace maskctl::app::tui {

/// Moves the cursor to the next cell of the last target; without one, to a difference of two
/// SOURCEs, or a leak. False, and a message, if there is none.
bool find_next(State& state, Way way);

}  // namespace maskctl::app::tui
