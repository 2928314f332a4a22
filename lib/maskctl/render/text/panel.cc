#include "maskctl/render/text/panel.h"

#include <algorithm>
#include <string>

#include "maskctl/render/figure/axis.h"

namespace maskctl {
namespace {

/// An axis has at most this many numbers.
constexpr Index kMostNumbers = 8;

struct Box {
  char32_t across, down, top_left, top_right, bottom_left, bottom_right, key_tick, query_tick;
};
constexpr Box kLines{U'─', U'│', U'┌', U'┐', U'└', U'┘', U'┴', U'┤'};
constexpr Box kAsciiLines{U'-', U'|', U'+', U'+', U'+', U'+', U'+', U'|'};

/// A label in ASCII, with one ASCII character for each of its characters.
std::string ascii_label(std::string_view utf8) {
  std::string out;
  for (std::size_t i = 0; i < utf8.size();) {
    const char32_t code = next_code(utf8, i);
    const char sign = code == U'…' ? '~' : code == U'·' ? '_' : '?';
    out += code < 0x80 ? static_cast<char>(code) : sign;
  }
  return out;
}

/// Draws a panel. Its first row and column have the rulers; its cells begin at (top_, left_).
class PanelCanvas {
 public:
  PanelCanvas(const Figure& figure, const Panel& panel, const Layout& layout, const InkGrid& grid)
      : figure_(figure),
        layout_(layout),
        options_(layout.options),
        grid_(grid),
        shape_(pixel_shape(layout.options)),
        box_(options_.style == Style::kAscii ? kAsciiLines : kLines),
        bands_(axis_bands(figure, panel, row_queries(), unit_keys())),
        top_(layout.top_lines),
        left_(layout.left_columns),
        rows_(ceil_div(grid.rows, shape_.rows) * shape_.lines),
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
    key_labels();
    query_labels();
    used.labels_left_out |= figure_.labelled() && !layout_.labels();
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
    for (Index row = 0; row < rows_; row += every * shape_.lines) {
      const std::string number = std::to_string(grid_.q.begin + row / shape_.lines * row_queries());
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
      const Range rows{band.units.begin * shape_.lines, band.units.end * shape_.lines};
      canvas_.write(top_ + rows.begin, end - std::ssize(text), text, look(band));
      for (Index row = rows.begin; row < rows.end; ++row) tint(top_ + row, left_ - 1, band);
    }
  }

  std::string drawn_label(const AxisLabels& labels, Index cell) const {
    const std::string& text = labels.texts[as_size(cell)];
    return options_.style == Style::kAscii ? ascii_label(text) : text;
  }

  /// Right-aligns the labels of queries, so that they end next to the cells.
  void query_labels() {
    if (layout_.label_width == 0) return;
    const Index end = left_ - (options_.border ? 1 : 0) - 1;
    for (Index q = grid_.q.begin; q < grid_.q.end; ++q) {
      const std::string text = drawn_label(*figure_.q_labels, q);
      canvas_.write(top_ + (q - grid_.q.begin) * shape_.lines, end - text_columns(text), text);
    }
  }

  void key_labels() {
    if (layout_.label_lines == 0) return;
    const Index end = top_ - (options_.border ? 1 : 0);
    for (Index k = grid_.k.begin; k < grid_.k.end; ++k) {
      const std::string text = drawn_label(*figure_.k_labels, k);
      const Index column = left_ + (k - grid_.k.begin) * shape_.characters;
      if (layout_.label_lines == 1) {
        canvas_.write(end - 1, column, text);
      } else {
        write_down(end, column, text);
      }
    }
  }

  /// Writes one character per line, so that the last is just above row `end`. Text that does not
  /// fit is cut.
  void write_down(Index end, Index column, std::string_view text) {
    const Index length = utf8_length(text), lines = std::min(length, layout_.label_lines);
    std::size_t i = 0;
    for (Index line = 0; line < lines; ++line) {
      const std::size_t begin = i;
      next_code(text, i);
      const bool cut = length > lines && line + 1 == lines;
      const std::string_view sign = options_.style == Style::kAscii ? "~" : "…";
      canvas_.write(end - lines + line, column, cut ? sign : text.substr(begin, i - begin));
    }
  }

  Index unit_keys() const { return grid_.k_step * shape_.columns; }
  Index row_queries() const { return grid_.q_step * shape_.rows; }

  /// Whether the text of `band` fits into `room` characters and does not touch the text of the next
  /// band.
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

  /// Gives the border at (row, column), which is next to a segment, the colour of the segment.
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

  const Figure& figure_;
  const Layout& layout_;
  const DrawOptions& options_;
  const InkGrid& grid_;
  PixelShape shape_;
  const Box& box_;
  AxisBands bands_;
  Index top_, left_, rows_, units_;
  Canvas canvas_;
};

}  // namespace

Canvas draw_panel(const Figure& figure, const Panel& panel, const Layout& layout,
                  const InkGrid& grid, UsedSigns& used) {
  return PanelCanvas(figure, panel, layout, grid).drawn(used);
}

}  // namespace maskctl
