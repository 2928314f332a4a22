// Computes the layout of the screen, and which cells are visible.
#pragma once

#include <optional>

#include "app/tui/state/state.h"
#include "maskctl/render/text/layout.h"

namespace maskctl::app::tui {

inline constexpr Index kLeastRows = 8, kLeastColumns = 30;
inline constexpr Index kSideColumns = 36;
/// A screen needs this many columns to show the side panel.
inline constexpr Index kSideNeeds = 80;

/// One drawing of the mask. Two drawings side by side show the same cells of different SOURCEs.
struct Pane {
  Sources sources = Sources::kBoth;
  Index column = 0;  // first column of the pane on the screen
};

struct Geometry {
  bool too_small = false;
  std::vector<Pane> panes;
  Layout layout;  // layout of the drawing, which begins in line 1 of the screen
  PixelShape shape;
  Index rows = 0, columns = 0;  // number of characters for cells
  Place first;                  // screen row and column of the first cell in the first pane
  Range queries, keys;          // visible cells
  Index side = 0;               // first column of the side panel; 0: not shown
  Range weight_rows;            // screen rows for the weights of heads; empty: not shown

  BlockSize unit() const { return layout.block; }
  Index unit_rows() const { return rows / shape.lines * shape.rows; }
  Index unit_columns() const { return columns / shape.characters * shape.columns; }
  /// The number of screen rows that the visible cells take; drawn_columns() returns the number of
  /// screen columns.
  Index drawn_rows() const { return ceil_div(queries.size(), unit().q * shape.rows) * shape.lines; }
  Index drawn_columns() const {
    return ceil_div(keys.size(), unit().k * shape.columns) * shape.characters;
  }
};

Geometry geometry(const State& state);

/// The smallest zoom at which the whole mask is visible.
int whole_zoom(const State& state);

/// Clamps all positions to the mask, and scrolls so that the cursor is visible.
void settle(State& state);

/// The cell drawn at a character of the screen; nothing outside of the drawing.
std::optional<Place> cell_at(const Geometry& geometry, Index row, Index column);

}  // namespace maskctl::app::tui
