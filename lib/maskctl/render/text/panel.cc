#include "maskctl/render/text/panel.h"

#include <algorithm>
#include <string>

#include "maskctl/render/figure/axis.h"

namespace maskctl {
namespace {

/// The most numbers on one axis.
constexpr Index kMostNumbers = 8;

struct Box {
  char32_t across, down, top_left, top_right, bottom_left, bottom_right, key_tick, query_tick;
};
constexpr Box kLines{U'─', U'│', U'┌', U'┐', U'└', U'┘', U'┴', U'┤'};
constexpr Box kAsciiLines{U'-', U'|', U'+', U'+', U'+', U'+', U'+', U'|'};

/// Row and column 0 hold the first rulers; the cells begin at top, left.
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

}  // namespace

Canvas draw_panel(const Figure& figure, const Panel& panel, const Layout& layout,
                  const InkGrid& grid, UsedSigns& used) {
  return PanelCanvas(figure, panel, layout, grid).drawn(used);
}

}  // namespace maskctl
