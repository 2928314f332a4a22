#include "maskctl/render/text/draw.h"

#include <algorithm>

#include "maskctl/render/text/labels.h"
#include "maskctl/render/text/layout.h"
#include "maskctl/render/text/overlay.h"

namespace maskctl {
namespace {

struct Box {
  char32_t across, down, top_left, top_right, bottom_left, bottom_right, key_tick, query_tick;
};
constexpr Box kLines{U'─', U'│', U'┌', U'┐', U'└', U'┘', U'┴', U'┤'};
constexpr Box kAsciiLines{U'-', U'|', U'+', U'+', U'+', U'+', U'+', U'|'};

/// Draws on a canvas of the size of the finished drawing. Row and column 0 hold the first rulers;
/// the cells begin at top, left.
class Painter {
 public:
  Painter(const Layout& layout, const DensityGrid& grid, Canvas& canvas, Index first_row)
      : layout_(layout),
        options_(layout.options),
        shape_(pixel_shape(layout.options.style)),
        box_(options_.style == Style::kAscii ? kAsciiLines : kLines),
        canvas_(canvas),
        first_row_(first_row),
        top_(first_row + layout.top_lines),
        left_(layout.left_columns),
        rows_(ceil_div(grid.rows, shape_.rows)),
        units_(ceil_div(grid.columns, shape_.columns)) {}

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
    const Index last = layout_.k.begin + (units_ - 1) * unit_keys();
    const auto width = static_cast<Index>(std::to_string(last).size());
    const Index every = tick_every(units_, shape_.characters, width + 1);
    for (Index unit = 0; unit < units_; unit += every) {
      const std::string number = std::to_string(layout_.k.begin + unit * unit_keys());
      const Index column = left_ + unit * shape_.characters;
      const Index room = (units_ - unit) * shape_.characters;
      if (static_cast<Index>(number.size()) > room) continue;
      canvas_.write(first_row_, column, number);
      if (options_.border) put(top_ - 1, column, box_.key_tick);
    }
  }

  void query_numbers() {
    const Index every = tick_every(rows_, 1, 1);
    for (Index row = 0; row < rows_; row += every) {
      const std::string number = std::to_string(layout_.q.begin + row * row_queries());
      const Index column = layout_.index_width - static_cast<Index>(number.size());
      canvas_.write(top_ + row, column, number);
      if (options_.border) put(top_ + row, left_ - 1, box_.query_tick);
    }
  }

  void key_segments(UsedSigns& used) {
    if (options_.k_segments.empty()) return;
    const auto labels =
        segment_labels(options_.k_segments, layout_.k, unit_keys(), options_.pad_id);
    for (std::size_t begin = 0, end = 0; begin < labels.size(); begin = end) {
      while (end < labels.size() && labels[end] == labels[begin]) ++end;
      const SegmentLabel& label = labels[begin];
      const Index column = left_ + static_cast<Index>(begin) * shape_.characters;
      const Index room = static_cast<Index>(end - begin) * shape_.characters;
      std::string text = label_text(label);
      if (!label_fits(label, end < labels.size() ? &labels[end] : nullptr, room)) {
        text = options_.style == Style::kAscii ? "~" : "…";
        used.too_long = true;
      }
      note(label, used);
      canvas_.write(first_row_ + 1, column, text, look(label));
      for (Index i = 0; i < room; ++i) tint(top_ - 1, column + i, label);
    }
  }

  void query_segments(UsedSigns& used) {
    if (options_.q_segments.empty()) return;
    const auto labels =
        segment_labels(options_.q_segments, layout_.q, row_queries(), options_.pad_id);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Index row = top_ + static_cast<Index>(i);
      tint(row, left_ - 1, labels[i]);
      if (i > 0 && labels[i] == labels[i - 1]) continue;
      note(labels[i], used);
      const std::string text = label_text(labels[i]);
      const Index end = layout_.index_width + 1 + layout_.segment_width;
      canvas_.write(row, end - static_cast<Index>(text.size()), text, look(labels[i]));
    }
  }

  void cells(const Canvas& cells) { canvas_.paste(top_, left_, cells); }

 private:
  Index unit_keys() const { return layout_.block.k * shape_.columns; }
  Index row_queries() const { return layout_.block.q * shape_.rows; }

  void put(Index row, Index column, char32_t code) {
    Glyph glyph;
    glyph.code = code;
    canvas_.put(row, column, glyph);
  }

  Glyph look(const SegmentLabel& label) const {
    Glyph glyph;
    if (options_.color && label.kind == SegmentKind::kId) glyph.fg = segment_color(label.id);
    return glyph;
  }

  /// Gives the border next to a segment the colour of the segment.
  void tint(Index row, Index column, const SegmentLabel& label) {
    if (!options_.border) return;
    Glyph glyph = canvas_.at(row, column);
    glyph.fg = look(label).fg;
    canvas_.put(row, column, glyph);
  }

  static void note(const SegmentLabel& label, UsedSigns& used) {
    used.mixed |= label.kind == SegmentKind::kMixed;
    used.padding |= label.kind == SegmentKind::kPadding;
  }

  const Layout& layout_;
  const DrawOptions& options_;
  PixelShape shape_;
  const Box& box_;
  Canvas& canvas_;
  Index first_row_, top_, left_, rows_, units_;
};

Canvas message(const char* text) {
  Canvas canvas(1, utf8_length(text));
  canvas.write(0, 0, text);
  return canvas;
}

/// Appends `lines` below the canvas; both are cut to `max_columns` (0 = not cut).
Canvas with_lines(const Canvas& above, const std::vector<std::string>& lines, Index max_columns) {
  Index columns = above.columns();
  for (const std::string& line : lines) columns = std::max(columns, utf8_length(line));
  if (max_columns > 0) columns = std::min(columns, max_columns);
  Canvas canvas(above.rows() + static_cast<Index>(lines.size()), columns);
  canvas.paste(0, 0, above);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    canvas.write(above.rows() + static_cast<Index>(i), 0, lines[i]);
  }
  return canvas;
}

}  // namespace

Canvas draw(const Plane& plane, const DrawOptions& options) {
  DrawOptions wanted = options;
  if (wanted.other && wanted.style != Style::kAscii) wanted.style = Style::kShade;
  const Layout layout = lay_out(plane, wanted);
  if (layout.q.empty() || layout.k.empty()) return message("(empty)");
  const BlockSize block = layout.block;
  const DensityGrid grid = density(plane, layout.q, layout.k, block.q, block.k);
  UsedSigns used;
  std::optional<DensityGrid> marks;
  if (options.highlight && !options.other) {
    marks = density(*options.highlight, layout.q, layout.k, block.q, block.k);
    used.highlight = marks->total() > 0;
  }
  const Canvas cells = options.other ? draw_overlay_cells(plane, grid, layout.options)
                                     : draw_cells(grid, layout.options, marks ? &*marks : nullptr);

  const Index limit = options.max_columns;
  std::vector<std::string> title;
  if (options.title) title = fill_lines(title_words(plane, grid, options), 1, limit);
  const auto first_row = static_cast<Index>(title.size());
  const Index border = options.border ? 1 : 0;
  const Canvas head = with_lines({}, title, limit);
  Canvas picture(first_row + layout.top_lines + cells.rows() + border,
                 std::max(head.columns(), layout.left_columns + cells.columns() + border));
  picture.paste(0, 0, head);
  Painter painter(layout, grid, picture, first_row);
  painter.border();
  painter.key_numbers();
  painter.query_numbers();
  painter.key_segments(used);
  painter.query_segments(used);
  painter.cells(cells);
  return with_lines(picture, fill_lines(legend_words(layout.options, block, used), 2, limit),
                    limit);
}

std::string draw_text(const Plane& plane, const DrawOptions& options) {
  const Canvas canvas = draw(plane, options);
  return options.color ? canvas.ansi() : canvas.text();
}

}  // namespace maskctl
