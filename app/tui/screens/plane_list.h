// The list of all batches and heads. It is shown first if there are several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tui/state/state.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// Returns the rows of the plane table, one for each batch and head, as the list sorts them. If the
/// list is folded, only the first of equal rows is listed.
std::vector<Index> listed_planes(const State& state);

/// Shows the list of batches and heads in place of the mask. If the mask has only one batch and one
/// head, shows a message that says so instead.
void open_list(State& state);
/// Carries out an action in the list.
void take_list_key(State& state, ListKey key, Index times);
/// Selects the first row of the list until the user selects one, or if the filter hides the
/// selected one. Returns true if the selection has changed.
bool follow_list(State& state);

/// A summary of what is known so far: "128 planes, 3 unlike; 1 leak in 1".
std::string list_status(const State& state);
/// The row of the plane table that is shown in a line of the screen; nothing outside of the list.
std::optional<Index> list_row_at(const State& state, Index line);

/// Draws the list in place of the mask, `columns` wide.
void draw_list(const State& state, Index columns, Canvas& canvas);
/// If the list would be narrower than this, the side panel is not shown beside it.
inline constexpr Index kListColumns = 76;

}  // namespace maskctl::app::tui
