#include "app/tui/screens/painter.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/beside/steps.h"
#include "app/tui/screens/colors.h"
#include "app/tui/screens/pages.h"
#include "app/tui/screens/panels.h"
#include "app/tui/screens/plane_list.h"
#include "app/tui/screens/weight_strip.h"
#include "app/tui/screens/words.h"
#include "app/tui/state/cells.h"
#include "app/tui/state/drawn.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/render/text/panel.h"

namespace maskctl::app::tui {
namespace {

/// Titles narrower than this omit the shape.
constexpr Index kWideTitle = 60;
constexpr std::string_view kHints =
    "hjkl move  + - zoom  t edit  F findings  n next  ? help  q quit";
constexpr std::string_view kTwoHints =
    "hjkl move  + - zoom  t edit  d views  F findings  n next  ? help  q quit";
constexpr std::string_view kListHints = "> sort  F findings  n next  <Enter> open  ? help  q quit";
constexpr std::string_view kStepHints = "h l select  x remove  <Space> off  ( ) move  <Enter> edit";

Figure figure_of(const State& state, const Panel& panel, Range queries, Range keys) {
  Figure figure{.pad_id = state.scene->pad_id, .queries = queries, .keys = keys};
  figure.panels = {panel};
  return figure;
}

/// Highlights the row and column of the cursor, and its cell.
void draw_crosshair(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas) {
  const Place cursor = state.view.cursor;
  const Index row = at.first.query + (cursor.query - at.queries.begin) /
                                         (at.unit().q * at.shape.rows) * at.shape.lines;
  const Index left = pane.column + at.first.key;
  const Index column =
      left + (cursor.key - at.keys.begin) / (at.unit().k * at.shape.columns) * at.shape.characters;
  const auto change = [&](Index r, Index c, auto&& f) {
    Glyph glyph = canvas.at(r, c);
    f(glyph);
    canvas.put(r, c, glyph);
  };
  const auto tint = [&](Glyph& glyph) {
    if (state.screen.colored() && glyph.bg == kNoColor) glyph.bg = kCrosshair;
  };
  const Index right = left + at.drawn_columns();
  const Index bottom = at.first.query + at.drawn_rows();
  for (Index i = 0; i < at.shape.lines; ++i) {
    for (Index c = left; c < right; ++c) change(row + i, c, tint);
  }
  for (Index r = at.first.query; r < bottom; ++r) {
    for (Index i = 0; i < at.shape.characters; ++i) change(r, column + i, tint);
  }
  for (Index i = 0; i < at.shape.lines * at.shape.characters; ++i) {
    change(row + i / at.shape.characters, column + i % at.shape.characters,
           [](Glyph& glyph) { glyph.reverse = true; });
  }
  canvas.put(row, left - 1, Glyph{.code = U'>', .bold = true});
  if (at.layout.options.border) {
    canvas.put(at.first.query - 1, column, Glyph{.code = U'v', .bold = true});
  }
}

/// Marks the cells of the selection that are visible: by their background, without colours by a dot
/// in those that are blank.
void draw_selection(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas) {
  if (!state.anchor) return;
  const Selection cells = selection_of(state);
  const Range queries = intersect(cells.queries, at.queries);
  const Range keys = intersect(cells.keys, at.keys);
  if (queries.empty() || keys.empty()) return;
  const auto screen = [](Range part, Index from, Index unit, Index size) {
    return Range{(part.begin - from) / unit * size, ceil_div(part.end - from, unit) * size};
  };
  const Range rows = screen(queries, at.queries.begin, at.unit().q * at.shape.rows, at.shape.lines);
  const Range columns =
      screen(keys, at.keys.begin, at.unit().k * at.shape.columns, at.shape.characters);
  for (Index r = rows.begin; r < rows.end; ++r) {
    for (Index c = columns.begin; c < columns.end; ++c) {
      const Index row = at.first.query + r, column = pane.column + at.first.key + c;
      Glyph glyph = canvas.at(row, column);
      if (state.screen.colored()) {
        glyph.bg = kSelected;
      } else if (glyph.code == U' ') {
        glyph.code = state.screen.utf8 ? U'·' : U'-';
      }
      canvas.put(row, column, glyph);
    }
  }
}

void draw_title(const State& state, Canvas& canvas) {
  const Scene& scene = *state.scene;
  std::string about = canvas.columns() < kWideTitle ? "" : shape_text(scene.mask);
  if (scene.mask.batch() > 1) about += fmt::format("  batch {}", state.view.batch);
  if (scene.mask.heads() > 1) about += fmt::format("  head {}", state.view.head);
  std::string name = scene.name == "-" ? "standard input" : scene.name;
  if (scene.other) {
    static constexpr std::string_view kWhich[] = {"A and B", "A | B", "A", "B", "only A", "only B"};
    about += fmt::format("  {}", kWhich[static_cast<std::size_t>(state.view.sources)]);
    name += " and " + scene.other_name;
  }
  name = printable(name, kUncut);
  const Index room = canvas.columns() - std::ssize(about) - 3;
  if (room >= 8) name = shortened(name, room);
  canvas.write(0, 0, fmt::format(" {}  ", name), Glyph{.bold = true});
  canvas.write(0, std::max<Index>(canvas.columns() - std::ssize(about), utf8_length(name) + 3),
               about);
}

/// Draws a label and the line that is being typed, and marks the cursor and the byte with an error.
void draw_line(const State& state, Index row, const std::string& label, Canvas& canvas) {
  const Line& line = state.line;
  const Index room = std::max<Index>(canvas.columns() - std::ssize(label) - 1, 1);
  const auto place = [&](std::size_t byte) {
    return utf8_length(printable(std::string_view(line.text).substr(0, byte), kUncut));
  };
  // Scrolls so that the cursor is visible.
  const Index skipped = std::max<Index>(place(line.caret) - room + 1, 0);
  canvas.write(row, std::ssize(label) - skipped, printable(line.text, kUncut));
  const auto mark = [&](std::size_t byte, const Glyph& like) {
    const Index column = std::ssize(label) + place(byte) - skipped;
    if (column < std::ssize(label) || column >= canvas.columns()) return;
    Glyph glyph = like;
    glyph.code = canvas.at(row, column).code;
    canvas.put(row, column, glyph);
  };
  if (state.error_at != std::string::npos) {
    Glyph wrong{.bold = true, .reverse = !state.screen.colored()};
    if (state.screen.colored()) wrong.fg = kWhite, wrong.bg = kMistake;
    mark(std::min(state.error_at, line.text.size()), wrong);
  }
  mark(line.caret, Glyph{.reverse = true});
  canvas.write(row, 0, label);
}

/// Draws the pipeline, scrolled so that the selected step is visible. Steps that are off are dim.
void draw_steps(const State& state, Index row, Index column, Index end, Canvas& canvas) {
  auto steps = split_steps(state.scene->pipeline);
  for (auto& step : steps) step.text = printable(step.text, kUncut);
  const auto ranges = step_ranges(steps);
  const Index room = std::max<Index>(end - column, 4);
  const Index selected_end = state.step ? ranges[as_size(*state.step)].end : 0;
  const Index skipped = std::max<Index>(selected_end - room, 0);
  const std::string text = join_steps(steps);
  Canvas line(1, std::max<Index>(std::ssize(text), 1));
  line.write(0, 0, text);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool selected = state.step == static_cast<Index>(i);
    for (Index c = ranges[i].begin; c < ranges[i].end; ++c) {
      Glyph glyph = line.at(0, c);
      glyph.reverse = selected;
      if (!steps[i].on && state.screen.colored()) glyph.fg = kDim;
      line.put(0, c, glyph);
    }
  }
  for (Index c = 0; c < std::min(room, line.columns() - skipped); ++c) {
    canvas.put(row, column + c, line.at(0, skipped + c));
  }
  if (skipped > 0) canvas.write(row, column, "..");
  if (line.columns() - skipped > room) canvas.write(row, end - 2, "..");
}

void draw_pipeline(const State& state, Canvas& canvas) {
  const Index row = canvas.rows() - 2;
  const std::string label = " pipeline> ";
  if (state.prompt == Prompt::kPipeline) return draw_line(state, row, label, canvas);
  // While the user types in the status line, this line shows the candidates for completion.
  if (state.prompt != Prompt::kNone && !state.message.empty()) {
    return canvas.write(row, 1, printable(state.message, kUncut));
  }
  std::string changes;
  if (!state.undo.empty() || !state.redo.empty()) {
    const bool saved = state.scene->pipeline == state.saved_pipeline;
    changes = fmt::format("  {}undo {} redo {}", saved ? "" : "changed  ", state.undo.size(),
                          state.redo.size());
  }
  canvas.write(row, 0, label);
  draw_steps(state, row, std::ssize(label), canvas.columns() - std::ssize(changes), canvas);
  canvas.write(row, canvas.columns() - std::ssize(changes), changes);
}

/// For example "working, 40%, for 3 s; <Esc> stops". A fraction of 0 means unknown.
std::string working_text(const std::string& what, double fraction, const Stopwatch& watch) {
  const std::string percent = fraction > 0 ? fmt::format(", {:.0f}%,", 100 * fraction) : "";
  return fmt::format("{}{} for {} s; <Esc> stops", what, percent,
                     static_cast<Index>(watch.seconds()));
}

/// Says what the current search waits for.
std::string search_text(const State& state) {
  if (state.looked_for) {
    return working_text("searching", state.looked_for->fraction, state.looked_for->watch);
  }
  const PlaneTable* planes = state.scene->lists() ? state.scene->planes.get() : nullptr;
  const std::string known =
      planes && state.counts().counted
          ? fmt::format(" {} of {}", grouped(planes->known()), counted(planes->size(), "plane"))
          : "";
  return fmt::format("counting{}; then goes on to the next, <Esc> stops", known);
}

/// The background work that <Esc> would stop; "" if there is none.
std::string work_text(const State& state) {
  if (const auto& change = state.change) {
    const bool documents = change->change == Change::kDocuments;
    return working_text(documents ? "reading the documents" : "making the mask", change->fraction,
                        change->watch);
  }
  if (state.awaited) return search_text(state);
  if (const auto& file = state.saving) {
    return working_text("writing " + printable(file->name), file->fraction, file->watch);
  }
  const bool working = state.report && !state.report->done;
  return working ? working_text("working", 0, state.report->watch) : "";
}

std::string status_text(const State& state, const Geometry& at) {
  if (state.question) return printable(state.question->text, kUncut) + " (y/n)";
  if (!state.message.empty()) return printable(state.message, kUncut);
  const std::string work = work_text(state);
  if (state.change || (state.saving && !state.awaited)) return work;
  if (state.list.shown && !state.awaited) return list_status(state);
  const Place cursor = state.view.cursor;
  std::string out = fmt::format("{},{} {}", cursor.query, cursor.key, cell_state(state));
  if (!state.found.empty()) out += "  " + state.found;
  if (state.anchor) {
    const Selection cells = selection_of(state);
    out += fmt::format("  selected {}x{}", cells.queries.size(), cells.keys.size());
  }
  if (at.unit() != kOneElement) out += fmt::format("  {}x{} cells", at.unit().q, at.unit().k);
  if (state.marking) return out + "  a letter for the mark?";
  if (!work.empty()) out += "  " + work;
  return state.count > 0 ? fmt::format("{}  {}", out, state.count) : out;
}

/// The last hints that fit into `room` characters. Hints are separated by two blanks.
std::string_view last_hints(std::string_view hints, Index room) {
  while (std::ssize(hints) > room && !hints.empty()) {
    const std::size_t next = hints.find("  ");
    hints.remove_prefix(next == std::string_view::npos ? hints.size() : next + 2);
  }
  return hints;
}

void draw_status(const State& state, const Geometry& at, Canvas& canvas) {
  const Index row = canvas.rows() - 1;
  if (state.prompt == Prompt::kCommand) return draw_line(state, row, ":", canvas);
  if (state.prompt == Prompt::kFind || state.prompt == Prompt::kListFilter) {
    return draw_line(state, row, "/", canvas);
  }
  const std::string status = " " + status_text(state, at);
  canvas.write(row, 0, status);
  const std::string_view text = state.step           ? kStepHints
                                : state.list.shown   ? kListHints
                                : state.scene->other ? kTwoHints
                                                     : kHints;
  const std::string_view fitting = last_hints(text, canvas.columns() - utf8_length(status) - 3);
  canvas.write(row, canvas.columns() - std::ssize(fitting) - 1, fitting,
               Glyph{.fg = state.screen.colored() ? kDim : kNoColor});
}

/// Replaces characters that are not ASCII, for terminals without UTF-8.
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

std::shared_ptr<const InkGrid> Painter::grid_of(const State& state, const Figure& figure,
                                                BlockSize block) {
  if (const auto& loading = state.scene->loading) {
    return std::make_shared<InkGrid>(
        loading->grid(grid_shape(*figure.queries, *figure.keys, block)));
  }
  return grids_.grid({figure.panels.front(), *figure.queries, *figure.keys, block});
}

void Painter::draw_pane(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas) {
  const Panel panel = panel_of(state, pane.sources);
  Figure figure = figure_of(state, panel, at.queries, at.keys);
  state.scene->tokens.label(figure);
  auto grid = grid_of(state, figure, at.unit());
  if (state.view.tiled) {
    grid = std::make_shared<InkGrid>(as_tiles(*grid, smallest_unit(state.view)));
  }
  UsedSigns used;
  canvas.paste(1, pane.column, draw_panel(figure, panel, at.layout, *grid, used));
  draw_selection(state, at, pane, canvas);
  draw_crosshair(state, at, pane, canvas);
  draw_weights(state, at, pane, canvas);
}

void Painter::draw_mask(const State& state, const Geometry& at, Canvas& canvas) {
  for (const Pane& pane : at.panes) draw_pane(state, at, pane, canvas);
}

void Painter::draw_overview(const State& state, const Geometry& at, Canvas& canvas) {
  const Overview place = overview(state, at);
  const Plane& plane = *state.counts().panel.plane;
  const Figure figure =
      figure_of(state, state.counts().panel, {0, plane.queries()}, {0, plane.keys()});
  const auto grid = grid_of(state, figure, place.block);
  DrawOptions options;
  options.style = place.style;
  options.color = state.screen.colored();
  canvas.paste(place.first.query, place.first.key, draw_cells(*grid, options));
  const bool whole = at.queries.size() == plane.queries() && at.keys.size() == plane.keys();
  if (whole) return;
  const Range rows = place.rows_of(at.queries), columns = place.columns_of(at.keys);
  for (Index row = rows.begin; row < rows.end; ++row) {
    for (Index column = columns.begin; column < columns.end; ++column) {
      Glyph glyph = canvas.at(row, column);
      if (state.screen.colored() && glyph.bg == kNoColor) glyph.bg = kCrosshair;
      if (!state.screen.colored() && glyph.code == U' ')
        glyph.code = state.screen.utf8 ? U'·' : U'-';
      canvas.put(row, column, glyph);
    }
  }
}

void Painter::draw_side(const State& state, const Geometry& at, Canvas& canvas) {
  if (at.side == 0) return;
  const Index end = canvas.rows() - 2;
  const Glyph line{.code = state.screen.utf8 ? U'│' : U'|',
                   .fg = state.screen.colored() ? kDim : kNoColor};
  for (Index row = 1; row < end; ++row) canvas.put(row, at.side - 1, line);
  draw_overview(state, at, canvas);
  if (state.scene->loading) return;
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
  canvas.write(0, 0, " " + shortened(printable(name, kUncut), screen.columns - 2),
               Glyph{.bold = true});
  canvas.write(screen.rows - 1, 0, " " + shortened(status, screen.columns - 2));
  if (!screen.utf8) to_ascii(canvas);
  return canvas;
}

Canvas Painter::draw(const State& state, Time end) {
  const Geometry at = geometry(state);
  if (at.too_small) return too_small(state);
  Canvas canvas(state.screen.rows, state.screen.columns);
  grids_.begin_screen(state.scene, end);
  if (state.list.shown) {
    const bool beside = at.side > kListColumns;
    if (beside) draw_side(state, at, canvas);
    draw_list(state, beside ? at.side - 1 : canvas.columns(), canvas);
  } else {
    draw_mask(state, at, canvas);
    draw_side(state, at, canvas);
  }
  grids_.end_screen();
  draw_title(state, canvas);
  draw_pipeline(state, canvas);
  draw_status(state, at, canvas);
  if (const auto pages = pages_of(state)) draw_pages(state, *pages, canvas);
  if (!state.screen.utf8) to_ascii(canvas);
  if (state.screen.colors == Colors::kEight) to_eight_colors(canvas);
  return canvas;
}

}  // namespace maskctl::app::tui
