#include "maskctl/render/text/draw.h"

#include <algorithm>

#include "maskctl/render/figure/words.h"
#include "maskctl/render/text/panel.h"

namespace maskctl {
namespace {

Canvas message(const char* text) {
  Canvas canvas(1, utf8_length(text));
  canvas.write(0, 0, text);
  return canvas;
}

/// A canvas with `lines`, cut to `width` columns (0: not cut). It has at least `rows` rows; rows
/// without a line come first.
Canvas text_canvas(const std::vector<std::string>& lines, Index rows, Index width) {
  Index columns = 0;
  for (const std::string& line : lines) columns = std::max(columns, utf8_length(line));
  if (width > 0) columns = std::min(columns, width);
  Canvas canvas(std::max(rows, static_cast<Index>(std::ssize(lines))), columns);
  Index row = canvas.rows() - std::ssize(lines);
  for (const std::string& line : lines) canvas.write(row++, 0, line);
  return canvas;
}

/// A part of the drawing, with its upper left corner at (row, column).
struct Placed {
  Canvas canvas;
  Index row = 0, column = 0;
};

Canvas stacked(const std::vector<Placed>& parts) {
  Index rows = 0, columns = 0;
  for (const Placed& part : parts) {
    rows = std::max(rows, part.row + part.canvas.rows());
    columns = std::max(columns, part.column + part.canvas.columns());
  }
  Canvas canvas(rows, columns);
  for (const Placed& part : parts) canvas.paste(part.row, part.column, part.canvas);
  return canvas;
}

/// A panel and the caption above it.
struct Drawn {
  std::vector<std::string> caption;
  Canvas canvas;
};

/// Places the panels from left to right, as many as fit into `columns` (0: all), and then in
/// further lines, starting at `row`. Returns the row after the last one.
Index place_panels(const std::vector<Drawn>& panels, Index row, Index columns,
                   std::vector<Placed>& out) {
  Index caption = 0, column = 0, below = row;
  for (const Drawn& panel : panels) caption = std::max(caption, Index{std::ssize(panel.caption)});
  for (const Drawn& panel : panels) {
    const Canvas text = text_canvas(panel.caption, caption, columns);
    const Index width = std::max(text.columns(), panel.canvas.columns());
    if (column > 0 && columns > 0 && column + width > columns) {
      row = below + 1;
      column = 0;
    }
    out.push_back({text, row, column});
    out.push_back({panel.canvas, row + caption, column});
    below = std::max(below, row + caption + panel.canvas.rows());
    column += width + kPanelGap;
  }
  return below;
}

/// If there are several panels, their captions may be at least this many characters wide.
constexpr Index kLeastCaptionWidth = 28;

struct Prepared {
  Layout layout;
  std::vector<InkGrid> grids;
};

Prepared prepare(const Figure& figure, const DrawOptions& options, DocumentWords words) {
  Prepared out{lay_out(figure, options, words), {}};
  DocumentWords found;
  for (const Panel& panel : figure.panels) {
    out.grids.push_back(ink_grid(figure, panel, out.layout.block));
    found.leaks |= out.grids.back().counts.leaks > 0;
    found.padding |= out.grids.back().counts.padding > 0;
  }
  // Captions have words for leaks and padding only if there are any, which is known only now.
  return found == words ? out : prepare(figure, options, found);
}

std::vector<Drawn> drawn_panels(const Figure& figure, const Prepared& prepared, Index alone_width,
                                UsedSigns& used) {
  std::vector<Drawn> out;
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const Panel& panel = figure.panels[i];
    const InkGrid& grid = prepared.grids[i];
    Drawn drawn{{}, draw_panel(figure, panel, prepared.layout, grid, used)};
    const bool alone = figure.panels.size() == 1;
    const Index width = alone ? alone_width : std::max(kLeastCaptionWidth, drawn.canvas.columns());
    if (prepared.layout.options.title) {
      drawn.caption = fill_lines(caption_words(figure, panel, grid), 1, width);
    }
    out.push_back(std::move(drawn));
  }
  return out;
}

std::vector<std::string> title_of(const Figure& figure, const DrawOptions& options, Index width) {
  if (!options.title) return {};
  std::vector<std::string> title = title_lines(figure, width);
  if (options.style == Style::kAscii) std::ranges::transform(title, title.begin(), ascii_text);
  return title;
}

}  // namespace

Canvas draw(const Figure& figure, const DrawOptions& options) {
  check_figure(figure);
  if (drawn_queries(figure).empty() || drawn_keys(figure).empty()) return message("(empty)");
  const Index limit = options.max_columns;
  const Prepared prepared = prepare(figure, options, {});
  UsedSigns used;
  const std::vector<Drawn> panels = drawn_panels(figure, prepared, limit, used);

  const DrawOptions& resolved = prepared.layout.options;
  std::vector<Placed> parts = {{text_canvas(title_of(figure, resolved, limit), 0, limit)}};
  const Index below = place_panels(panels, parts.front().canvas.rows(), limit, parts);
  const auto legend = fill_lines(legend_words(prepared.grids.front(), resolved, used), 2, limit);
  parts.push_back({text_canvas(legend, 0, limit), below});
  return stacked(parts);
}

std::string draw_text(const Figure& figure, const DrawOptions& options) {
  const Canvas canvas = draw(figure, options);
  return options.color ? canvas.ansi() : canvas.text();
}

}  // namespace maskctl
