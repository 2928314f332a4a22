// The whole mask, small, at the top of the side panel.
#pragma once

#include <optional>

#include "app/tui/geometry.h"

namespace maskctl::app::tui {

/// Where the overview stands, and what a unit of it is.
struct Overview {
  Place first;  // row and column of its first character on the screen
  Style style = Style::kHalf;
  BlockSize block;              // cells of a unit
  Index rows = 0, columns = 0;  // characters

  /// The characters that show a part of the mask.
  Range rows_of(Range queries) const;
  Range columns_of(Range keys) const;
};
Overview overview(const State& state, const Geometry& geometry);

/// The middle of what a character of the overview shows; nothing outside of it.
std::optional<Place> overview_cell_at(const State& state, const Geometry& geometry, Index row,
                                      Index column);

}  // namespace maskctl::app::tui
