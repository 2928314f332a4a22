// Where on the screen everything stands, and which cells are visible.
#pragma once

#include <optional>

#include "app/tui/state.h"
#include "maskctl/render/text/layout.h"

namespace maskctl::app::tui {

inline constexpr Index kLeastRows = 8, kLeastColumns = 30;
inline constexpr Index kSideColumns = 36;
/// The side panel needs a screen of this width.
inline constexpr Index kSideNeeds = 80;

/// One drawing of the mask; two stand side by side and show the same part.
struct Pane {
  Sources sources = Sources::kBoth;
  Index column = 0;  // the first on the screen
};

struct Geometry {
  bool too_small = false;
  std::vector<Pane> panes;
  Layout layout;  // of the drawing, whose first line is line 1 of the screen
  PixelShape shape;
  Index rows = 0, columns = 0;  // characters for cells
  Place first;                  // row and column of the first of them, in the first pane
  Range queries, keys;          // visible cells
  Index side = 0;               // the first column of the side panel; 0: none
  Range weight_rows;            // of the screen, for weights of heads; empty: none

  BlockSize unit() const { return layout.block; }
  Index unit_rows() const { return rows / shape.lines * shape.rows; }
  Index unit_columns() const { return columns / shape.characters * shape.columns; }
  /// Characters that visible cells take.
  Index drawn_rows() const { return ceil_div(queries.size(), unit().q * shape.rows) * shape.lines; }
  Index drawn_columns() const {
    return ceil_div(keys.size(), unit().k * shape.columns) * shape.characters;
  }
};

Geometry geometry(const State& state);

/// The zoom with which the whole mask is visible.
int whole_zoom(const State& state);

/// Brings the view into the mask and the cursor into the view.
void settle(State& state);

/// The cell that is drawn at a character of the screen; nothing outside of the drawing.
std::optional<Place> cell_at(const Geometry& geometry, Index row, Index column);

}  // namespace maskctl::app::tui
