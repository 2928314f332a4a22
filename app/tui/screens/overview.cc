#include "app/tui/screens/overview.h"

#include <algorithm>

namespace maskctl::app::tui {
namespace {

constexpr Index kMostRows = 12;
constexpr Index kEnoughTiles = 4;
/// The number of lines of the side panel that are reserved for other panels.
constexpr Index kOtherLines = 16;

Style style_of(const State& state) {
  if (!state.screen.utf8) return Style::kAscii;
  return state.screen.colors == Colors::kMany && !state.counts().panel.other ? Style::kHalf
                                                                             : Style::kShade;
}

}  // namespace

Range Overview::rows_of(Range queries) const {
  const Index cells = block.q * pixel_shape(style).rows;
  return {first.query + queries.begin / cells, first.query + ceil_div(queries.end, cells)};
}

Range Overview::columns_of(Range keys) const {
  const PixelShape shape = pixel_shape(style);
  const Index cells = block.k * shape.columns;
  return {first.key + keys.begin / cells * shape.characters,
          first.key + ceil_div(keys.end, cells) * shape.characters};
}

Overview overview(const State& state, const Geometry& geometry) {
  Overview out;
  out.first = {1, geometry.side + 1};
  out.style = style_of(state);
  const PixelShape shape = pixel_shape(out.style);
  const Plane& plane = *state.counts().panel.plane;
  const Index most = std::clamp<Index>(state.screen.rows - 2 - kOtherLines, 4, kMostRows);
  out.block = fitting_block(plane.queries(), plane.keys(), most * shape.rows,
                            (kSideColumns - 2) / shape.characters * shape.columns, kEnoughTiles);
  out.rows = ceil_div(plane.queries(), out.block.q * shape.rows);
  out.columns = ceil_div(plane.keys(), out.block.k * shape.columns) * shape.characters;
  return out;
}

std::optional<Place> overview_cell_at(const State& state, const Geometry& geometry, Index row,
                                      Index column) {
  if (geometry.side == 0) return std::nullopt;
  const Overview at = overview(state, geometry);
  const Index down = row - at.first.query, right = column - at.first.key;
  if (down < 0 || down >= at.rows || right < 0 || right >= at.columns) return std::nullopt;
  const PixelShape shape = pixel_shape(at.style);
  const BlockSize cells{at.block.q * shape.rows, at.block.k * shape.columns};
  return Place{down * cells.q + cells.q / 2, right / shape.characters * cells.k + cells.k / 2};
}

}  // namespace maskctl::app::tui
