// Changes of the pipeline, with undo and redo. The new masks are made in the background.
#pragma once

#include <string>

#include "app/tui/state/state.h"

namespace maskctl::app::tui {

/// Appends a version to the undo list and clears the redo list.
void remember(State& state, Version version);
/// True if no other change is in progress; else false, with a message.
bool can_change(State& state);
/// Starts to make the mask for this pipeline. When it is made, `step` is selected.
void change_pipeline(State& state, const std::string& pipeline, std::optional<Index> step = {});
/// undo() goes back to the previous version of the pipeline, redo() forward to the next one. Each
/// shows a message if there is no such version.
void undo(State& state);
void redo(State& state);

/// Completes the pending change if its mask is made by `end`. Without a pending change, stops
/// making a mask for an earlier one. Throws like Workbench::scene(), and then changes nothing.
/// Errors in a pipeline that is being typed are shown as a message instead.
void follow_change(State& state, Workbench& bench, Time end);

}  // namespace maskctl::app::tui
