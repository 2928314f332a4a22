#include "app/tui/painter.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/help.h"
#include "app/tui/panels.h"
#include "app/tui/words.h"
#include "maskctl/render/text/panel.h"

namespace maskctl::app::tui {
namespace {

constexpr std::int16_t kCrosshair = 238, kDim = 245, kMistake = 160, kWhite = 231;
/// Narrower titles leave out the shape.
constexpr Index kWideTitle = 60;
constexpr std::string_view kHints = "hjkl move  + - zoom  n next  t edit  ? help  q quit";

Figure figure_of(const State& state, Range queries, Range keys) {
  Figure figure{.pad_id = state.scene->pad_id, .queries = queries, .keys = keys};
  figure.panels = {state.facts().panel};
  return figure;
}

/// Gives the row and column of the cursor another background, and marks its cell.
void draw_crosshair(const State& state, const Geometry& at, Canvas& canvas) {
  const Place cursor = state.view.cursor;
  const Index row =
      at.first.query + (cursor.query - at.queries.begin) / (at.unit().q * at.shape.rows);
  const Index column = at.first.key + (cursor.key - at.keys.begin) /
                                          (at.unit().k * at.shape.columns) * at.shape.characters;
  const auto change = [&](Index r, Index c, auto&& f) {
    Glyph glyph = canvas.at(r, c);
    f(glyph);
    canvas.put(r, c, glyph);
  };
  const auto tint = [&](Glyph& glyph) {
    if (state.screen.color && glyph.bg == kNoColor) glyph.bg = kCrosshair;
  };
  const Index right = at.first.key + at.drawn_columns();
  const Index bottom = at.first.query + at.drawn_rows();
  for (Index c = at.first.key; c < right; ++c) change(row, c, tint);
  for (Index r = at.first.query; r < bottom; ++r) {
    for (Index i = 0; i < at.shape.characters; ++i) change(r, column + i, tint);
  }
  for (Index i = 0; i < at.shape.characters; ++i) {
    change(row, column + i, [](Glyph& glyph) { glyph.reverse = true; });
  }
  canvas.put(row, at.first.key - 1, Glyph{.code = U'>', .bold = true});
  if (at.layout.options.border) {
    canvas.put(at.first.query - 1, column, Glyph{.code = U'v', .bold = true});
  }
}

void draw_title(const State& state, Canvas& canvas) {
  const Scene& scene = *state.scene;
  std::string facts = canvas.columns() < kWideTitle ? "" : shape_text(scene.mask);
  if (scene.mask.batch() > 1) facts += fmt::format("  batch {}", state.view.batch);
  if (scene.mask.heads() > 1) facts += fmt::format("  head {}", state.view.head);
  std::string name = scene.name == "-" ? "standard input" : scene.name;
  if (scene.other) {
    static constexpr std::string_view kWhich[] = {"A and B", "A", "B"};
    facts += fmt::format("  {}", kWhich[static_cast<std::size_t>(state.view.sources)]);
    name += " and " + scene.other_name;
  }
  const Index room = canvas.columns() - std::ssize(facts) - 3;
  if (room >= 8) name = shortened(readable_text(name), room);
  canvas.write(0, 0, fmt::format(" {}  ", name), Glyph{.bold = true});
  canvas.write(0, std::max<Index>(canvas.columns() - std::ssize(facts), utf8_length(name) + 3),
               facts);
}

/// A label, then the line with its caret and the place of a mistake.
void draw_line(const State& state, Index row, const std::string& label, Canvas& canvas) {
  const Line& line = state.line;
  const Index room = std::max<Index>(canvas.columns() - std::ssize(label) - 1, 1);
  const auto place = [&](std::size_t byte) {
    return utf8_length(std::string_view(line.text).substr(0, byte));
  };
  const Index skipped = std::max<Index>(place(line.caret) - room + 1, 0);  // the caret is visible
  canvas.write(row, std::ssize(label) - skipped, readable_text(line.text));
  const auto mark = [&](std::size_t byte, const Glyph& like) {
    const Index column = std::ssize(label) + place(byte) - skipped;
    if (column < std::ssize(label) || column >= canvas.columns()) return;
    Glyph glyph = like;
    glyph.code = canvas.at(row, column).code;
    canvas.put(row, column, glyph);
  };
  if (state.error_at != std::string::npos) {
    Glyph wrong{.bold = true, .reverse = !state.screen.color};
    if (state.screen.color) wrong.fg = kWhite, wrong.bg = kMistake;
    mark(std::min(state.error_at, line.text.size()), wrong);
  }
  mark(line.caret, Glyph{.reverse = true});
  canvas.write(row, 0, label);
}

void draw_pipeline(const State& state, Canvas& canvas) {
  const Index row = canvas.rows() - 2;
  const std::string label = " pipeline> ";
  if (state.prompt == Prompt::kPipeline) return draw_line(state, row, label, canvas);
  std::string changes;
  if (!state.undo.empty() || !state.redo.empty()) {
    changes = fmt::format("  undo {} redo {}", state.undo.size(), state.redo.size());
  }
  const Index room = std::max<Index>(canvas.columns() - std::ssize(label) - std::ssize(changes), 4);
  canvas.write(row, 0, label + shortened(readable_text(state.scene->pipeline), room));
  canvas.write(row, canvas.columns() - std::ssize(changes), changes);
}

std::string status_text(const State& state, const Geometry& at) {
  if (!state.message.empty()) return readable_text(state.message);
  const Place cursor = state.view.cursor;
  std::string out = fmt::format("{},{} {}", cursor.query, cursor.key, cell_state(state));
  if (at.unit() != kOneElement) out += fmt::format("  {}x{} cells", at.unit().q, at.unit().k);
  if (state.marking) return out + "  a letter for the mark?";
  return state.count > 0 ? fmt::format("{}  {}", out, state.count) : out;
}

void draw_status(const State& state, const Geometry& at, Canvas& canvas) {
  const Index row = canvas.rows() - 1;
  if (state.prompt == Prompt::kCommand) return draw_line(state, row, ":", canvas);
  if (state.prompt == Prompt::kFind) return draw_line(state, row, "/", canvas);
  const std::string status = " " + status_text(state, at);
  canvas.write(row, 0, status);
  const Index hints = canvas.columns() - std::ssize(kHints) - 1;
  if (hints <= utf8_length(status) + 1) return;
  canvas.write(row, hints, kHints, Glyph{.fg = state.screen.color ? kDim : kNoColor});
}

/// Terminals without UTF-8 get ASCII only, whatever names and texts hold.
void to_ascii(Canvas& canvas) {
  for (Index row = 0; row < canvas.rows(); ++row) {
    for (Index column = 0; column < canvas.columns(); ++column) {
      Glyph glyph = canvas.at(row, column);
      if (glyph.code < 0x80) continue;
      glyph.code = U'?';
      canvas.put(row, column, glyph);
    }
  }
}

Canvas too_small(const State& state) {
  Canvas canvas(state.screen.rows, state.screen.columns);
  canvas.write(0, 0, fmt::format("needs {}x{}", kLeastColumns, kLeastRows));
  return canvas;
}

}  // namespace

std::shared_ptr<const InkGrid> Painter::grid_of(const State& state, Range queries, Range keys,
                                                BlockSize block) {
  if (const auto& arriving = state.scene->arriving) {
    return std::make_shared<InkGrid>(arriving->grid(grid_shape(queries, keys, block)));
  }
  return grids_.grid({state.facts().panel, queries, keys, block});
}

void Painter::draw_mask(const State& state, const Geometry& at, Canvas& canvas) {
  const Figure figure = figure_of(state, at.queries, at.keys);
  const auto grid = grid_of(state, at.queries, at.keys, at.unit());
  UsedSigns used;
  canvas.paste(1, 0, draw_panel(figure, figure.panels.front(), at.layout, *grid, used));
  draw_crosshair(state, at, canvas);
}

void Painter::draw_overview(const State& state, const Geometry& at, Canvas& canvas) {
  const Overview place = overview(state, at);
  const Plane& plane = *state.facts().panel.plane;
  const auto grid = grid_of(state, {0, plane.queries()}, {0, plane.keys()}, place.block);
  DrawOptions options;
  options.style = place.style;
  options.color = state.screen.color;
  canvas.paste(place.first.query, place.first.key, draw_cells(*grid, options));
  const bool whole = at.queries.size() == plane.queries() && at.keys.size() == plane.keys();
  if (whole) return;
  const Range rows = place.rows_of(at.queries), columns = place.columns_of(at.keys);
  for (Index row = rows.begin; row < rows.end; ++row) {
    for (Index column = columns.begin; column < columns.end; ++column) {
      Glyph glyph = canvas.at(row, column);
      if (state.screen.color && glyph.bg == kNoColor) glyph.bg = kCrosshair;
      if (!state.screen.color && glyph.code == U' ') glyph.code = state.screen.utf8 ? U'·' : U'-';
      canvas.put(row, column, glyph);
    }
  }
}

void Painter::draw_side(const State& state, const Geometry& at, Canvas& canvas) {
  if (at.side == 0) return;
  const Index end = canvas.rows() - 2;
  const Glyph line{.code = state.screen.utf8 ? U'│' : U'|',
                   .fg = state.screen.color ? kDim : kNoColor};
  for (Index row = 1; row < end; ++row) canvas.put(row, at.side - 1, line);
  draw_overview(state, at, canvas);
  if (state.scene->arriving) return;
  Index row = 1 + overview(state, at).rows;
  for (const SidePanel& panel : side_panels()) {
    const auto lines = panel.lines(state, at);
    if (lines.empty() || row + 1 >= end) continue;
    canvas.write(row++, at.side + 1, panel.title, Glyph{.bold = true});
    for (const std::string& text : lines) {
      for (const std::string& part : wrapped(text, kSideColumns - 3)) {
        if (row < end) canvas.write(row++, at.side + 2, part);
      }
    }
  }
}

Canvas opening_screen(const Screen& screen, const std::string& name, const std::string& status) {
  Canvas canvas(screen.rows, screen.columns);
  canvas.write(0, 0, " " + shortened(readable_text(name), screen.columns - 2), Glyph{.bold = true});
  canvas.write(screen.rows - 1, 0, " " + shortened(status, screen.columns - 2));
  if (!screen.utf8) to_ascii(canvas);
  return canvas;
}

Canvas Painter::draw(const State& state, Grids::Time end) {
  const Geometry at = geometry(state);
  if (at.too_small) return too_small(state);
  Canvas canvas(state.screen.rows, state.screen.columns);
  grids_.begin_screen(state.scene, end);
  draw_mask(state, at, canvas);
  draw_side(state, at, canvas);
  grids_.end_screen();
  draw_title(state, canvas);
  draw_pipeline(state, canvas);
  draw_status(state, at, canvas);
  if (state.help_page > 0) draw_help(state, canvas);
  if (!state.screen.utf8) to_ascii(canvas);
  return canvas;
}

}  // namespace maskctl::app::tui
