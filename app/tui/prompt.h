// What is typed into the lines for commands, searches and the pipeline.
#pragma once

#include "app/tui/actions.h"
#include "app/tui/state.h"

namespace maskctl::app::tui {

void open_prompt(State& state, Ask ask);
/// Edits the pipeline from this line on.
void open_pipeline(State& state, Line line);
/// Begins to make what the pipeline that is being typed shows, if it is not shown yet.
void show_preview(State& state);
/// Keeps the pipeline that was typed, of which this is the mask.
void keep_typed(State& state, ScenePtr scene);
/// A key while a prompt is open. Throws what commands throw.
void take_prompt_key(State& state, const std::string& key, Workbench& bench);

}  // namespace maskctl::app::tui
