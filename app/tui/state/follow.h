// Hands what a state asks for to the work beside the screens, and brings the results into the
// state.
#pragma once

#include "app/tui/beside/counting.h"
#include "app/tui/state/state.h"

namespace maskctl::app::tui {

// Each starts the work that the state asks for, stops work that it no longer asks for, and waits
// until `end` at most; see Errand.
/// Counts the batch and head that is shown.
void follow(const State& state, Counting& counting, Time end);
/// Looks for the place of a search that waits; see resume_search().
void follow(State& state, Searching& searching, Time end);
void follow(State& state, ReportMaker& reports, Time end);
/// Writes a file; sets a message when it is written, or asks whether to replace what exists.
void follow(State& state, Saving& saving, Time end);

}  // namespace maskctl::app::tui
