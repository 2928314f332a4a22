#include "app/tui/state/geometry.h"

#include <algorithm>

#include "app/tui/beside/steps.h"
#include "app/tui/state/drawn.h"

namespace maskctl::app::tui {
namespace {

/// If the shorter axis is drawn in fewer units (blocks of cells) than this, its units are made
/// smaller, if there is room.
constexpr Index kEnoughUnits = 16;
/// A screen with fewer rows than this shows no border around the drawing.
constexpr Index kRowsForBorder = 12;
constexpr int kMostZoom = 31;
/// Weights of heads take at most one in this many lines of the screen, and so do labels of keys.
constexpr Index kRowsPerWeights = 4, kRowsPerLabels = 4;
/// Labels are shown on screens of at least this size.
constexpr Index kRowsForLabels = 16, kColumnsForLabels = 50;
/// The largest number of screen lines that a unit takes.
constexpr Index kMostUnitLines = 6;

Index digits(Index n) { return std::ssize(std::to_string(n)); }

Style style_of(const State& state, int zoom) {
  if (!state.screen.utf8) return Style::kAscii;
  const View& view = state.view;
  const bool overlay = state.counts().panel.other && view.sources == Sources::kBoth;
  if (overlay || view.tiled) return state.style == Style::kAscii ? Style::kAscii : Style::kShade;
  if (state.style != Style::kAuto) return state.style;
  // A character of half blocks shows two cells. But when zoomed out, each half stands for many
  // cells of the mask, and on a terminal with few colours it cannot show how many of them are open.
  return zoom == 0 || state.screen.colors == Colors::kMany ? Style::kHalf : Style::kShade;
}

/// The number of cells per unit of the drawing along an axis: `step`, or less if the axis is much
/// shorter than the other.
Index step_of(Index step, Index least, Index extent, Index other_extent, Index room) {
  while (step > least && extent < other_extent && ceil_div(extent, step) < kEnoughUnits &&
         ceil_div(extent, step / 2) <= room) {
    step /= 2;
  }
  return step;
}

void set_rulers(const State& state, Layout& layout) {
  const Panel& panel = state.counts().panel;
  const Index border = layout.options.border ? 1 : 0;
  layout.index_width = digits(panel.plane->queries() - 1);
  layout.segment_width = state.counts().id_width;
  layout.top_lines = 1 + (panel.k_segments.empty() ? 0 : 1) + border;
  layout.left_columns =
      layout.index_width + 1 + (layout.segment_width > 0 ? layout.segment_width + 1 : 0) + border;
}

/// The number of screen lines for weights: one per head that is shown, and a title.
Index weight_lines(const State& state, Index rows) {
  if (!state.view.weights) return 0;
  const Index most = std::max<Index>(rows / kRowsPerWeights, 1);
  return std::min(state.scene->weight_heads(), most) + 1;
}

std::vector<Pane> panes_of(const View& view, Index width) {
  if (view.sources != Sources::kBeside) return {{view.sources, 0}};
  return {{Sources::kA, 0}, {Sources::kB, width / 2}};
}

/// Adds labels of tokens if the screen has room for them. Called only when single cells are drawn.
void set_labels(const State& state, Layout& layout) {
  const Screen& screen = state.screen;
  if (screen.rows < kRowsForLabels || screen.columns < kColumnsForLabels) return;
  Figure figure;
  state.scene->tokens.label(figure);
  add_labels(figure, screen.rows / kRowsPerLabels, layout);
}

/// The layout for a zoom and a style. `lines`: the number of screen lines that a unit takes.
Geometry geometry_in(const State& state, int zoom, Style style, Index lines = 1) {
  Geometry out;
  const Screen& screen = state.screen;
  out.too_small = screen.rows < kLeastRows || screen.columns < kLeastColumns;
  DrawOptions& options = out.layout.options;
  options.style = style;
  options.color = screen.colored();
  options.border = screen.rows >= kRowsForBorder;
  options.pixel_lines = lines;
  out.shape = pixel_shape(options);
  set_rulers(state, out.layout);
  if (zoom == 0 && !state.view.tiled && out.shape.signs()) set_labels(state, out.layout);
  if (state.side && screen.columns >= kSideNeeds) out.side = screen.columns - kSideColumns;
  const Index border = options.border ? 1 : 0;
  const Index width = out.side > 0 ? out.side - 1 : screen.columns;
  out.panes = panes_of(state.view, width);
  out.first = {1 + out.layout.top_lines, out.layout.left_columns};
  // The title is above the drawing; weights, the pipeline and the status are below it.
  const Index end = screen.rows - 2;
  out.weight_rows = {end - weight_lines(state, end), end};
  out.rows = std::max<Index>(out.weight_rows.begin - border - out.first.query, 1);
  out.columns =
      std::max<Index>(width / std::ssize(out.panes) - border - out.first.key, out.shape.characters);
  const Plane& plane = *state.counts().panel.plane;
  const Index least = smallest_unit(state.view).q, step = std::max(Index{1} << zoom, least);
  out.layout.block = {step_of(step, least, plane.queries(), plane.keys(), out.unit_rows()),
                      step_of(step, least, plane.keys(), plane.queries(), out.unit_columns())};
  return out;
}

bool shows_all(const State& state, const Geometry& at) {
  const Plane& plane = *state.counts().panel.plane;
  return ceil_div(plane.queries(), at.unit().q) <= at.unit_rows() &&
         ceil_div(plane.keys(), at.unit().k) <= at.unit_columns();
}

/// Returns kShade, in which cells are larger than in kHalf, if the whole mask fits in it or if
/// there are labels; else the style of style_of().
Style large_style(const State& state, int zoom) {
  const Style style = style_of(state, zoom);
  if (zoom > 0 || state.style != Style::kAuto || style != Style::kHalf) return style;
  const Geometry large = geometry_in(state, zoom, Style::kShade);
  return shows_all(state, large) || large.layout.labels() ? Style::kShade : style;
}

/// The layout for a zoom. Units are as large as possible while the whole mask stays visible.
Geometry geometry_at(const State& state, int zoom) {
  const Style style = large_style(state, zoom);
  Geometry out = geometry_in(state, zoom, style);
  if (!out.shape.signs() || out.unit() != smallest_unit(state.view)) return out;
  while (shows_all(state, out) && out.shape.lines < kMostUnitLines) {
    Geometry larger = geometry_in(state, zoom, style, out.shape.lines + 1);
    if (!shows_all(state, larger)) break;
    out = std::move(larger);
  }
  return out;
}

/// The first visible cell of an axis: a multiple of `step`, such that the cursor is visible and
/// less than one unit after the end of the axis is empty.
Index settled_origin(Index origin, Index cursor, Index extent, Index step, Index room) {
  const Index unit = cursor / step;
  const Index last = std::max<Index>(ceil_div(extent, step) - room, 0);
  const Index first = std::clamp(origin / step, std::max<Index>(unit - room + 1, 0), unit);
  return std::min(first, last) * step;
}

}  // namespace

Geometry geometry(const State& state) {
  Geometry out = geometry_at(state, state.view.zoom);
  const Plane& plane = *state.counts().panel.plane;
  const Place from = state.view.origin;
  out.queries = {from.query,
                 std::min(plane.queries(), from.query + out.unit_rows() * out.unit().q)};
  out.keys = {from.key, std::min(plane.keys(), from.key + out.unit_columns() * out.unit().k)};
  // If the mask leaves empty lines, the weights move up to the line below the mask.
  const Index room = out.rows - out.drawn_rows();
  out.weight_rows = {out.weight_rows.begin - room, out.weight_rows.end - room};
  return out;
}

int whole_zoom(const State& state) {
  int zoom = 0;
  while (zoom < kMostZoom && !shows_all(state, geometry_at(state, zoom))) ++zoom;
  return zoom;
}

void settle(State& state) {
  View& view = state.view;
  const Mask& mask = state.scene->mask;
  view.batch = std::clamp<Index>(view.batch, 0, mask.batch() - 1);
  view.head = std::clamp<Index>(view.head, 0, mask.heads() - 1);
  view.cursor.query = std::clamp<Index>(view.cursor.query, 0, mask.queries() - 1);
  view.cursor.key = std::clamp<Index>(view.cursor.key, 0, mask.keys() - 1);
  state.list.shown &= state.scene->lists();
  const int whole = whole_zoom(state);
  view.zoom = std::clamp(view.zoom, std::min(view.tiled ? view.tile : 0, whole), whole);
  const Index steps = std::ssize(split_steps(state.scene->pipeline));
  if (state.step && steps == 0) state.step.reset();
  if (state.step) state.step = std::clamp<Index>(*state.step, 0, steps - 1);
  const Geometry at = geometry_at(state, view.zoom);
  view.origin = {settled_origin(view.origin.query, view.cursor.query, mask.queries(), at.unit().q,
                                at.unit_rows()),
                 settled_origin(view.origin.key, view.cursor.key, mask.keys(), at.unit().k,
                                at.unit_columns())};
}

std::optional<Place> cell_at(const Geometry& geometry, Index row, Index column) {
  const Index down = row - geometry.first.query;
  Index right = column - geometry.first.key;
  if (geometry.panes.size() > 1 && column >= geometry.panes[1].column) {
    right -= geometry.panes[1].column;
  }
  if (down < 0 || down >= geometry.rows || right < 0 || right >= geometry.columns) {
    return std::nullopt;
  }
  const Index unit_column = right / geometry.shape.characters * geometry.shape.columns;
  const Index unit_row = down / geometry.shape.lines * geometry.shape.rows;
  const Place cell{geometry.queries.begin + unit_row * geometry.unit().q,
                   geometry.keys.begin + unit_column * geometry.unit().k};
  if (!geometry.queries.contains(cell.query) || !geometry.keys.contains(cell.key)) {
    return std::nullopt;
  }
  return cell;
}

}  // namespace maskctl::app::tui
