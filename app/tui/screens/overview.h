// A small drawing of the whole mask at the top of the side panel.
#pragma once

#include <optional>

#include "app/tui/state/geometry.h"

namespace maskctl::app::tui {

/// Position and scale of the overview.
struct Overview {
  Place first;  // row and column of the overview's first character on the screen
  Style style = Style::kHalf;
  BlockSize block;              // cells per unit
  Index rows = 0, columns = 0;  // size in characters

  /// The screen rows, or columns, that show these queries, or keys.
  Range rows_of(Range queries) const;
  Range columns_of(Range keys) const;
};
Overview overview(const State& state, const Geometry& geometry);

/// The cell in the middle of those that a character of the overview shows; nothing outside of the
/// overview.
std::optional<Place> overview_cell_at(const State& state, const Geometry& geometry, Index row,
                                      Index column);

}  // namespace maskctl::app::tui
