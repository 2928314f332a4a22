// Searching: leaks, empty rows, partial tiles, borders of segments, differences.
#pragma once

#include "app/tui/actions.h"
#include "app/tui/state.h"

namespace maskctl::app::tui {

/// Moves the cursor to the next region (or cell, or place) of the last target; without one, of the
/// differences of two SOURCEs, or of leaks. Regions are walked through all batches and heads that
/// are unlike those before, and round the end. Says what there is instead if there is none; waits
/// for what is not counted yet, see resume_search().
void find(State& state, const FindNext& next, Index times);

/// Goes on with a search that waits, when more is known or found. True if it has moved or ended.
bool resume_search(State& state);

}  // namespace maskctl::app::tui
