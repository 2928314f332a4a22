// The list of all batches and heads: what is seen first where there are several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tui/state.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// The rows of the table that are listed, in the order of the list; equal ones once if folded.
std::vector<Index> listed_planes(const State& state);

/// Shows the list, if there are several batches and heads.
void open_list(State& state);
/// What a key does in it.
void take_list_key(State& state, ListKey key, Index times);
/// Until the reader chooses, the first row is selected. True if that is another now.
bool follow_list(State& state);

/// "128 planes, 3 unlike; 1 leak in 1": what is known by now.
std::string list_status(const State& state);
/// The row of the table at a line of the screen; nothing outside of it.
std::optional<Index> list_row_at(const State& state, Index line);

/// Draws it over the mask, up to the side panel.
void draw_list(const State& state, Index columns, Canvas& canvas);
/// The narrowest list beside a side panel.
inline constexpr Index kListColumns = 76;

}  // namespace maskctl::app::tui
