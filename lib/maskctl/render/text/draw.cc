#include "maskctl/render/text/draw.h"

#include <algorithm>

#include "maskctl/render/figure/words.h"
#include "maskctl/render/text/layout.h"

namespace maskctl {
namespace {

/// The most numbers on one axis.
constexpr Index kMostNumbers = 8;

struct Box {
  char32_t across, down, top_left, top_right, bottom_left, bottom_right, key_tick, query_tick;
};
constexpr Box kLines{U'─', U'│', U'┌', U'┐', U'└', U'┘', U'┴', U'┤'};
constexpr Box kAsciiLines{U'-', U'|', U'+', U'+', U'+', U'+', U'+', U'|'};

/// One panel below its caption. Row and column 0 of what lies around the cells hold the first
/// rulers; the cells begin at top, left.
class PanelCanvas {
 public:
  PanelCanvas(const Figure& figure, const Panel& panel, const Layout& layout, const InkGrid& grid)
      : layout_(layout),
        options_(layout.options),
        grid_(grid),
        shape_(pixel_shape(layout.options.style)),
        box_(options_.style == Style::kAscii ? kAsciiLines : kLines),
        bands_(axis_bands(figure, panel, row_queries(), unit_keys())),
        top_(layout.top_lines),
        left_(layout.left_columns),
        rows_(ceil_div(grid.rows, shape_.rows)),
        units_(ceil_div(grid.columns, shape_.columns)) {
    const Index border = options_.border ? 1 : 0;
    canvas_ = Canvas(top_ + rows_ + border, left_ + units_ * shape_.characters + border);
  }

  const Canvas& drawn(UsedSigns& used) {
    used.leak |= grid_.counts.leaks > 0;
    border();
    key_numbers();
    query_numbers();
    key_segments(used);
    query_segments(used);
    canvas_.paste(top_, left_, draw_cells(grid_, options_));
    return canvas_;
  }

 private:
  void border() {
    if (!options_.border) return;
    const Index right = left_ + units_ * shape_.characters, bottom = top_ + rows_;
    for (Index column = left_; column < right; ++column) {
      put(top_ - 1, column, box_.across);
      put(bottom, column, box_.across);
    }
    for (Index row = top_; row < bottom; ++row) {
      put(row, left_ - 1, box_.down);
      put(row, right, box_.down);
    }
    put(top_ - 1, left_ - 1, box_.top_left);
    put(top_ - 1, right, box_.top_right);
    put(bottom, left_ - 1, box_.bottom_left);
    put(bottom, right, box_.bottom_right);
  }

  void key_numbers() {
    const auto width = std::ssize(std::to_string(grid_.k.begin + (units_ - 1) * unit_keys())) + 1;
    Index every = tick_step(grid_.k.size(), kMostNumbers, unit_keys()) / unit_keys();
    while (every * shape_.characters < width) every *= 2;
    for (Index unit = 0; unit < units_; unit += every) {
      const std::string number = std::to_string(grid_.k.begin + unit * unit_keys());
      const Index column = left_ + unit * shape_.characters;
      const Index room = (units_ - unit) * shape_.characters;
      if (static_cast<Index>(number.size()) > room) continue;
      canvas_.write(0, column, number);
      if (options_.border) put(top_ - 1, column, box_.key_tick);
    }
  }

  void query_numbers() {
    const Index every = tick_step(grid_.q.size(), kMostNumbers, row_queries()) / row_queries();
    for (Index row = 0; row < rows_; row += every) {
      const std::string number = std::to_string(grid_.q.begin + row * row_queries());
      const Index column = layout_.index_width - static_cast<Index>(number.size());
      canvas_.write(top_ + row, column, number);
      if (options_.border) put(top_ + row, left_ - 1, box_.query_tick);
    }
  }

  void key_segments(UsedSigns& used) {
    for (std::size_t i = 0; i < bands_.k.size(); ++i) {
      const AxisBand& band = bands_.k[i];
      const Index column = left_ + band.units.begin * shape_.characters;
      const Index room = band.units.size() * shape_.characters;
      std::string text = band_text(band);
      if (!fits(band, i + 1 < bands_.k.size() ? &bands_.k[i + 1] : nullptr, room)) {
        text = options_.style == Style::kAscii ? "~" : "…";
        used.too_long = true;
      }
      note(band, used);
      canvas_.write(1, column, text, look(band));
      for (Index at = 0; at < room; ++at) tint(top_ - 1, column + at, band);
    }
  }

  void query_segments(UsedSigns& used) {
    for (const AxisBand& band : bands_.q) {
      note(band, used);
      const std::string text = band_text(band);
      const Index end = layout_.index_width + 1 + layout_.segment_width;
      canvas_.write(top_ + band.units.begin, end - std::ssize(text), text, look(band));
      for (Index row = band.units.begin; row < band.units.end; ++row) {
        tint(top_ + row, left_ - 1, band);
      }
    }
  }

  Index unit_keys() const { return grid_.k_step * shape_.columns; }
  Index row_queries() const { return grid_.q_step * shape_.rows; }

  /// Whether the text of `band`, given `room` characters, is apart from that of the next one.
  static bool fits(const AxisBand& band, const AxisBand* next, Index room) {
    const bool apart =
        next == nullptr || band.kind == SegmentKind::kMixed || next->kind == SegmentKind::kMixed;
    return std::ssize(band_text(band)) + (apart ? 0 : 1) <= room;
  }

  void put(Index row, Index column, char32_t code) {
    Glyph glyph;
    glyph.code = code;
    canvas_.put(row, column, glyph);
  }

  Glyph look(const AxisBand& band) const {
    Glyph glyph;
    if (options_.color && band.kind == SegmentKind::kId) {
      glyph.fg = terminal_color(segment_colors()[band.color]);
    }
    return glyph;
  }

  /// Gives the border next to a segment the colour of the segment.
  void tint(Index row, Index column, const AxisBand& band) {
    if (!options_.border) return;
    Glyph glyph = canvas_.at(row, column);
    glyph.fg = look(band).fg;
    canvas_.put(row, column, glyph);
  }

  static void note(const AxisBand& band, UsedSigns& used) {
    used.mixed |= band.kind == SegmentKind::kMixed;
    used.padding |= band.kind == SegmentKind::kPadding;
  }

  const Layout& layout_;
  const DrawOptions& options_;
  const InkGrid& grid_;
  PixelShape shape_;
  const Box& box_;
  AxisBands bands_;
  Index top_, left_, rows_, units_;
  Canvas canvas_;
};

Canvas message(const char* text) {
  Canvas canvas(1, utf8_length(text));
  canvas.write(0, 0, text);
  return canvas;
}

/// `lines`, cut to `width` (0 = not cut), on at least `rows` rows; the empty ones come first.
Canvas text_canvas(const std::vector<std::string>& lines, Index rows, Index width) {
  Index columns = 0;
  for (const std::string& line : lines) columns = std::max(columns, utf8_length(line));
  if (width > 0) columns = std::min(columns, width);
  Canvas canvas(std::max(rows, static_cast<Index>(std::ssize(lines))), columns);
  Index row = canvas.rows() - std::ssize(lines);
  for (const std::string& line : lines) canvas.write(row++, 0, line);
  return canvas;
}

/// What begins at `column` of the row of panels that begins at `row`.
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

/// A panel with its caption above.
struct Drawn {
  std::vector<std::string> caption;
  Canvas canvas;
};

/// Places the panels from left to right, as many as `columns` hold (0 = all), line by line, from
/// `row` on; returns the row after the last.
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

/// Captions of several panels are as wide as these, or a little wider.
constexpr Index kLeastCaption = 28;

std::vector<InkGrid> grids_of(const Figure& figure, BlockSize block) {
  std::vector<InkGrid> out;
  for (const Panel& panel : figure.panels) out.push_back(ink_grid(figure, panel, block));
  return out;
}

}  // namespace

Canvas draw(const Figure& figure, const DrawOptions& options) {
  check_figure(figure);
  if (drawn_queries(figure).empty() || drawn_keys(figure).empty()) return message("(empty)");
  Layout layout = lay_out(figure, options, false);
  std::vector<InkGrid> grids = grids_of(figure, layout.block);
  if (std::ranges::any_of(grids, [](const InkGrid& grid) { return grid.counts.leaks > 0; })) {
    layout = lay_out(figure, options, true);
    grids = grids_of(figure, layout.block);
  }
  const bool alone = figure.panels.size() == 1;
  UsedSigns used;
  std::vector<Drawn> panels;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const Panel& panel = figure.panels[i];
    Drawn drawn{{}, PanelCanvas(figure, panel, layout, grids[i]).drawn(used)};
    const Index width =
        alone ? options.max_columns : std::max(kLeastCaption, drawn.canvas.columns());
    if (options.title) drawn.caption = fill_lines(caption_words(figure, panel, grids[i]), 1, width);
    panels.push_back(std::move(drawn));
  }
  std::vector<Placed> parts;
  const Index limit = options.max_columns;
  if (options.title) {
    std::vector<std::string> title = title_lines(figure, limit);
    if (layout.options.style == Style::kAscii)
      std::ranges::transform(title, title.begin(), ascii_text);
    parts.push_back({text_canvas(title, 0, limit)});
  }
  const Index first = parts.empty() ? 0 : parts.front().canvas.rows();
  const Index below = place_panels(panels, first, limit, parts);
  const auto legend = fill_lines(legend_words(grids.front(), layout.options, used), 2, limit);
  parts.push_back({text_canvas(legend, 0, limit), below});
  return stacked(parts);
}

std::string draw_text(const Figure& figure, const DrawOptions& options) {
  const Canvas canvas = draw(figure, options);
  return options.color ? canvas.ansi() : canvas.text();
}

}  // namespace maskctl
