#include "maskctl/render/picture/raster.h"

#include <algorithm>
#include <string>

#include "maskctl/render/figure/axis.h"
#include "maskctl/render/picture/bitmap_font.h"
#include "maskctl/render/picture/painter.h"

namespace maskctl {
namespace {

constexpr Index kLine = 22, kMargin = 14, kGap = 6, kTickLength = 6, kBandWidth = 20;
constexpr Index kTargetSize = 512, kMaxUnit = 32, kThinUnit = 24, kLeastUnitWithLines = 8;
constexpr Index kLeastWidth = 420;

/// One axis of the matrix: where its cells are, in pixels from the first one.
struct Axis {
  Index extent = 0;  // cells
  Index step = 1;    // cells per unit
  Index unit = 1;    // pixels per unit
  Index size = 0;    // pixels
  std::vector<AxisBand> bands;

  Index pixel(Index cell) const { return std::min(cell * unit / step, size); }
  /// The middle of a cell that is a unit of its own, else its edge.
  Index tick(Index cell) const { return pixel(cell) + (step == 1 ? unit / 2 : 0); }
};

struct LegendItem {
  std::vector<std::uint8_t> colors;  // indices into the palette
  std::string text;
  Index width() const {
    const auto swatches = static_cast<Index>(colors.size());
    return swatches * kTextHeight + (swatches > 0 ? kGap : 0) + text_width(text);
  }
};

/// Lays out everything around the matrix before it is drawn.
class Sheet {
 public:
  Sheet(const PictureInput& input, const PictureOptions& options, const InkGrid& grid,
        const Raster& cells, UnitSize unit)
      : input_(input), options_(options), grid_(grid), cells_(cells) {
    q_ = {grid.queries, grid.q_step, unit.height, cells.height, {}};
    k_ = {grid.keys, grid.k_step, unit.width, cells.width, {}};
    if (options.axes) {
      q_.bands = axis_bands(input.q_segments, grid.q_step, input.pad_id);
      k_.bands = axis_bands(input.k_segments, grid.k_step, input.pad_id);
    }
    measure();
  }

  Raster draw() {
    Painter painter(width_, height_, cells_.palette);
    draw_title(painter);
    if (grid_.inks.empty()) {
      painter.text(left_, top_, "(empty)", painter.extra(kText));
    } else {
      painter.frame(left_ - 1, top_ - 1, cells_.width + 2, cells_.height + 2,
                    painter.extra(kFrame));
      painter.paste(left_, top_, cells_);
      if (options_.axes) draw_axes(painter);
    }
    draw_legend(painter);
    return painter.take();
  }

 private:
  void measure() {
    top_ = left_ = kMargin;
    Index right = kMargin;
    if (options_.axes) {
      const Index number = text_width(std::to_string(std::max<Index>(q_.extent - 1, 0)));
      left_ +=
          kTextHeight + kGap + number + kTickLength + kGap + (q_.bands.empty() ? 0 : kBandWidth);
      right += text_width(std::to_string(std::max<Index>(k_.extent - 1, 0))) / 2;
    }
    width_ = std::max(left_ + cells_.width + right, kLeastWidth);
    if (options_.title) {
      const Index most = (width_ - 2 * kMargin) / kCharWidth;
      for (const std::string& text :
           {picture_name(input_), picture_statistics(input_, grid_.counts)}) {
        const auto lines = wrapped_text(font_text(text), most);
        title_.insert(title_.end(), lines.begin(), lines.end());
      }
      top_ += static_cast<Index>(title_.size()) * kLine + kGap;
    }
    if (options_.axes) {
      top_ += kLine + kTextHeight + kGap + kTickLength + (k_.bands.empty() ? 0 : kBandWidth);
    }
    height_ = top_ + std::max(cells_.height, grid_.inks.empty() ? kTextHeight : 0) + kMargin;
    if (options_.legend && !grid_.inks.empty()) height_ += place_legend() + kMargin;
  }

  void draw_title(Painter& painter) const {
    Index y = kMargin;
    for (const std::string& line : title_) {
      painter.text(kMargin, y, line, painter.extra(kText));
      y += kLine;
    }
  }

  void draw_axes(Painter& painter) const {
    const std::uint8_t black = painter.extra(kText);
    const Index k_band = k_.bands.empty() ? 0 : kBandWidth;
    const Index q_band = q_.bands.empty() ? 0 : kBandWidth;
    const Index k_line = top_ - 1 - k_band, q_line = left_ - 1 - q_band;

    const Index label = text_width(std::to_string(std::max<Index>(k_.extent - 1, 0)));
    const Index k_ticks = tick_step(k_.extent, k_.size / (label + 2 * kCharWidth));
    for (Index cell = 0; cell < k_.extent; cell += k_ticks) {
      const std::string text = std::to_string(cell);
      const Index x = left_ + k_.tick(cell);
      painter.fill(x, k_line - kTickLength, 1, kTickLength, black);
      painter.text(x - text_width(text) / 2 + kDot / 2, k_line - kTickLength - kTextHeight, text,
                   black);
    }
    const Index q_ticks = tick_step(q_.extent, q_.size / (3 * kLine));
    for (Index cell = 0; cell < q_.extent; cell += q_ticks) {
      const std::string text = std::to_string(cell);
      const Index y = top_ + q_.tick(cell);
      painter.fill(q_line - kTickLength, y, kTickLength, 1, black);
      painter.text(q_line - kTickLength - kGap / 2 - text_width(text), y - 7 * kDot / 2, text,
                   black);
    }
    painter.text(left_ + std::max<Index>((k_.size - text_width("keys")) / 2, 0),
                 k_line - kTickLength - kTextHeight - kLine, "keys", black);
    const char* queries = text_width("queries") <= q_.size ? "queries" : "q";
    painter.text(kMargin, top_ + (q_.size + text_width(queries)) / 2, queries, black, true);
    draw_bands(painter);
  }

  void draw_bands(Painter& painter) const {
    for (const AxisBand& band : k_.bands) {
      const Index begin = k_.pixel(band.cells.begin), size = k_.pixel(band.cells.end) - begin;
      const std::uint8_t color = painter.segment(band_color(band.label));
      const std::string text = label_text(band.label);
      painter.fill(left_ + begin, top_ - kBandWidth, size, kBandWidth - 2, color);
      if (text_width(text) + kDot <= size) {
        painter.text(left_ + begin + (size - text_width(text) + kDot) / 2, top_ - kBandWidth + kDot,
                     text, painter.text_on(color));
      }
    }
    for (const AxisBand& band : q_.bands) {
      const Index begin = q_.pixel(band.cells.begin), size = q_.pixel(band.cells.end) - begin;
      const std::uint8_t color = painter.segment(band_color(band.label));
      const std::string text = label_text(band.label);
      painter.fill(left_ - kBandWidth, top_ + begin, kBandWidth - 2, size, color);
      if (text_width(text) + kDot <= size) {
        painter.text(left_ - kBandWidth + kDot, top_ + begin + (size + text_width(text) - kDot) / 2,
                     text, painter.text_on(color), true);
      }
    }
  }

  /// Breaks the legend into lines; returns their height.
  Index place_legend() {
    std::vector<LegendItem> items;
    const bool pixel = q_.unit == 1 && k_.unit == 1;
    const std::string unit = unit_text(grid_, pixel ? "pixel" : "square");
    if (!unit.empty()) items.push_back({{}, unit});
    for (const LegendEntry& entry : legend_entries(grid_.set, grid_.blocks)) {
      items.push_back({entry.inks, entry.text});
    }
    const auto segments = cells_.palette.size();
    for (const BandLegend& band : band_legend(q_.bands, k_.bands)) {
      items.push_back({{static_cast<std::uint8_t>(segments + band.color)}, band.text});
    }
    Index room = 0;
    for (LegendItem& item : items) {
      if (legend_.empty() || room < item.width()) {
        legend_.emplace_back();
        room = width_ - 2 * kMargin;
      }
      room -= item.width() + 2 * kCharWidth;
      legend_.back().push_back(std::move(item));
    }
    return static_cast<Index>(legend_.size()) * kLine;
  }

  void draw_legend(Painter& painter) const {
    Index y = top_ + cells_.height + kMargin;
    for (const auto& line : legend_) {
      Index x = kMargin;
      for (const LegendItem& item : line) {
        for (const std::uint8_t color : item.colors) {
          painter.fill(x, y, kTextHeight, kTextHeight, color);
          painter.frame(x, y, kTextHeight, kTextHeight, painter.extra(kFrame));
          x += kTextHeight;
        }
        if (!item.colors.empty()) x += kGap;
        painter.text(x, y + kDot / 2, item.text, painter.extra(kText));
        x += text_width(item.text) + 2 * kCharWidth;
      }
      y += kLine;
    }
  }

  const PictureInput& input_;
  const PictureOptions& options_;
  const InkGrid& grid_;
  const Raster& cells_;
  Axis q_, k_;
  Index left_ = 0, top_ = 0, width_ = 0, height_ = 0;
  std::vector<std::string> title_;
  std::vector<std::vector<LegendItem>> legend_;  // lines
};

}  // namespace

UnitSize unit_size(const InkGrid& grid, const PictureOptions& options) {
  if (options.scale > 0) return {options.scale, options.scale};
  const Index longer = std::max<Index>({grid.rows, grid.columns, 1});
  const Index target = std::min(kTargetSize, options.max_size);
  const Index unit = std::clamp<Index>(target / longer, 1, kMaxUnit);
  const auto of_axis = [&](Index units) {  // keep a strip of one row visible
    return units > 0 && units * unit < kThinUnit ? std::min(kThinUnit, target) / units : unit;
  };
  return {std::max(of_axis(grid.rows), unit), std::max(of_axis(grid.columns), unit)};
}

Raster draw_cells_raster(const InkGrid& grid, Palette palette, UnitSize unit) {
  Raster out;
  out.width = grid.columns * unit.width;
  out.height = grid.rows * unit.height;
  out.palette = ink_colors(grid.set, palette);
  const auto line = static_cast<std::uint8_t>(out.palette.size());
  const bool lines = std::min(unit.width, unit.height) >= kLeastUnitWithLines;
  if (lines) out.palette.push_back(kFrameColor);
  out.pixels.resize(static_cast<std::size_t>(out.width * out.height));
  for (Index row = 0; row < grid.rows; ++row) {
    const auto first = out.pixels.begin() + row * unit.height * out.width;
    auto pixel = first;
    for (Index column = 0; column < grid.columns; ++column) {
      pixel = std::fill_n(pixel, unit.width, grid.at(row, column));
      if (lines && column + 1 < grid.columns) *(pixel - 1) = line;
    }
    for (Index copy = 1; copy < unit.height; ++copy) {
      std::copy_n(first, out.width, first + copy * out.width);
    }
    if (lines && row + 1 < grid.rows) {
      std::fill_n(first + (unit.height - 1) * out.width, out.width, line);
    }
  }
  return out;
}

Raster draw_raster(const PictureInput& input, const PictureOptions& options) {
  check_picture(input, options);
  const Index units = std::max<Index>(options.max_size / std::max<Index>(options.scale, 1), 1);
  const InkGrid grid = ink_grid(input, units, units);
  const UnitSize unit = unit_size(grid, options);
  const Raster cells = draw_cells_raster(grid, options.palette, unit);
  return Sheet(input, options, grid, cells, unit).draw();
}

}  // namespace maskctl
