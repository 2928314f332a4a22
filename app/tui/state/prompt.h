// Handles the lines in which the user types commands, searches and pipelines.
#pragma once

#include "app/tui/state/actions.h"
#include "app/tui/state/state.h"

namespace maskctl::app::tui {

void open_prompt(State& state, Ask ask);
/// Opens the pipeline for editing; `line` is its initial text.
void open_pipeline(State& state, Line line);
/// Starts to make the mask of the pipeline that is being typed, if that is due.
void show_preview(State& state);
/// Makes `scene`, the mask of the pipeline that was typed, the current one, and closes the line.
void keep_typed(State& state, ScenePtr scene);
/// Handles a key while a line is open. Throws what commands throw.
void take_prompt_key(State& state, const std::string& key, Workbench& bench);

}  // namespace maskctl::app::tui
