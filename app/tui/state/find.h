// Searches for leaks, empty rows, partial tiles, borders of segments and differences.
#pragma once

#include "app/tui/state/actions.h"
#include "app/tui/state/state.h"

namespace maskctl::app::tui {

/// Moves the cursor to the next region or cell of the last search target; without one, of the
/// differences between two SOURCEs, or else of the leaks. The search visits each distinct plane
/// (batch and head) once and continues at the other end of the list. If there is nothing to find, a
/// message says so. If the result depends on counts that are not known yet, the search waits; see
/// resume_search().
void find(State& state, const FindNext& next, Index times);

/// Continues a waiting search after more has been counted or found. True if the cursor has moved or
/// the search has ended.
bool resume_search(State& state);

}  // namespace maskctl::app::tui
