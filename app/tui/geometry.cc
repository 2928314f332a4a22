#include "app/tui/geometry.h"

#include <algorithm>

namespace maskctl::app::tui {
namespace {

/// An axis of fewer units is drawn finer than the other, if there is room.
constexpr Index kEnoughUnits = 16;
/// On lower screens the drawing has no border.
constexpr Index kRowsForBorder = 12;
constexpr int kMostZoom = 31;

Index digits(Index n) { return std::ssize(std::to_string(n)); }

Style style_of(const State& state, int zoom) {
  if (!state.screen.utf8) return Style::kAscii;
  const PlaneFacts& facts = state.facts();
  if (facts.panel.other) return state.style == Style::kAscii ? Style::kAscii : Style::kShade;
  if (state.style != Style::kAuto) return state.style;
  // Half blocks are finer; without colour they do not tell how much of a block is open.
  return zoom == 0 || state.screen.color ? Style::kHalf : Style::kShade;
}

/// Cells per unit: fewer along an axis that is much shorter than the other.
Index step_of(int zoom, Index extent, Index other_extent, Index room) {
  Index step = Index{1} << zoom;
  while (step > 1 && extent < other_extent && ceil_div(extent, step) < kEnoughUnits &&
         ceil_div(extent, step / 2) <= room) {
    step /= 2;
  }
  return step;
}

void set_rulers(const State& state, Layout& layout) {
  const Panel& panel = state.facts().panel;
  const Index border = layout.options.border ? 1 : 0;
  layout.index_width = digits(panel.plane->queries() - 1);
  layout.segment_width = state.facts().id_width;
  layout.top_lines = 1 + (panel.k_segments.empty() ? 0 : 1) + border;
  layout.left_columns =
      layout.index_width + 1 + (layout.segment_width > 0 ? layout.segment_width + 1 : 0) + border;
}

Geometry geometry_at(const State& state, int zoom) {
  Geometry out;
  const Screen& screen = state.screen;
  out.too_small = screen.rows < kLeastRows || screen.columns < kLeastColumns;
  DrawOptions& options = out.layout.options;
  options.style = style_of(state, zoom);
  options.color = screen.color;
  options.border = screen.rows >= kRowsForBorder;
  out.shape = pixel_shape(options.style);
  set_rulers(state, out.layout);
  if (state.side && screen.columns >= kSideNeeds) out.side = screen.columns - kSideColumns;
  const Index border = options.border ? 1 : 0;
  const Index width = out.side > 0 ? out.side - 1 : screen.columns;
  out.first = {1 + out.layout.top_lines, out.layout.left_columns};
  // Above the drawing is the title, below it the pipeline and the status.
  out.rows = std::max<Index>(screen.rows - 2 - border - out.first.query, 1);
  out.columns = std::max<Index>(width - border - out.first.key, 2);
  const Plane& plane = *state.facts().panel.plane;
  out.layout.block = {step_of(zoom, plane.queries(), plane.keys(), out.unit_rows()),
                      step_of(zoom, plane.keys(), plane.queries(), out.unit_columns())};
  return out;
}

/// The first visible cell of an axis: whole units, the cursor among them, no more empty space at
/// the end than a part of a unit.
Index settled_origin(Index origin, Index cursor, Index extent, Index step, Index room) {
  const Index unit = cursor / step;
  const Index last = std::max<Index>(ceil_div(extent, step) - room, 0);
  const Index first = std::clamp(origin / step, std::max<Index>(unit - room + 1, 0), unit);
  return std::min(first, last) * step;
}

}  // namespace

Geometry geometry(const State& state) {
  Geometry out = geometry_at(state, state.view.zoom);
  const Plane& plane = *state.facts().panel.plane;
  const Place from = state.view.origin;
  out.queries = {from.query,
                 std::min(plane.queries(), from.query + out.unit_rows() * out.unit().q)};
  out.keys = {from.key, std::min(plane.keys(), from.key + out.unit_columns() * out.unit().k)};
  return out;
}

int whole_zoom(const State& state) {
  const Plane& plane = *state.facts().panel.plane;
  for (int zoom = 0; zoom < kMostZoom; ++zoom) {
    const Geometry at = geometry_at(state, zoom);
    if (ceil_div(plane.queries(), at.unit().q) <= at.unit_rows() &&
        ceil_div(plane.keys(), at.unit().k) <= at.unit_columns()) {
      return zoom;
    }
  }
  return kMostZoom;
}

void settle(State& state) {
  View& view = state.view;
  const Mask& mask = state.scene->mask;
  view.batch = std::clamp<Index>(view.batch, 0, mask.batch() - 1);
  view.head = std::clamp<Index>(view.head, 0, mask.heads() - 1);
  view.cursor.query = std::clamp<Index>(view.cursor.query, 0, mask.queries() - 1);
  view.cursor.key = std::clamp<Index>(view.cursor.key, 0, mask.keys() - 1);
  view.zoom = std::clamp(view.zoom, 0, whole_zoom(state));
  const Geometry at = geometry_at(state, view.zoom);
  view.origin = {settled_origin(view.origin.query, view.cursor.query, mask.queries(), at.unit().q,
                                at.unit_rows()),
                 settled_origin(view.origin.key, view.cursor.key, mask.keys(), at.unit().k,
                                at.unit_columns())};
}

std::optional<Place> cell_at(const Geometry& geometry, Index row, Index column) {
  const Index down = row - geometry.first.query, right = column - geometry.first.key;
  if (down < 0 || down >= geometry.rows || right < 0 || right >= geometry.columns) {
    return std::nullopt;
  }
  const Index unit_column = right / geometry.shape.characters * geometry.shape.columns;
  const Place cell{geometry.queries.begin + down * geometry.shape.rows * geometry.unit().q,
                   geometry.keys.begin + unit_column * geometry.unit().k};
  if (!geometry.queries.contains(cell.query) || !geometry.keys.contains(cell.key)) {
    return std::nullopt;
  }
  return cell;
}

}  // namespace maskctl::app::tui
