#include "maskctl/render/picture/sheet.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/render/figure/words.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl {
namespace {

constexpr Index kLine = 20, kMargin = 14, kGap = 6, kTickLength = 6, kBandWidth = 19;
constexpr Index kSwatch = 14, kLeastWidth = 420, kLeastCaption = 28 * kCharWidth;
constexpr Rgb kBlack = {0, 0, 0}, kWhite = {255, 255, 255};

Index text_width(std::string_view utf8) { return utf8_length(utf8) * kCharWidth; }

Index width_of(const Swatches& entry) {
  const Index colors = std::ssize(entry.colors) * kSwatch;
  return colors + (colors > 0 ? kGap : 0) + text_width(entry.text);
}

}  // namespace

std::vector<Swatches> swatches(const std::vector<InkGrid>& grids,
                               const std::vector<AxisBands>& bands, Palette palette,
                               const char* unit) {
  const InkGrid& grid = grids.front();
  const bool leaks =
      std::ranges::any_of(grids, [](const InkGrid& panel) { return panel.counts.leaks > 0; });
  std::vector<Swatches> out;
  if (grid.blocks) {
    out.push_back({{}, fmt::format("1 {} = {} x {} cells", unit, grid.q_step, grid.k_step)});
  }
  const std::vector<Ink>& table = inks(grid.set, palette);
  for (const LegendEntry& entry : legend_entries(grid.set, grid.blocks, leaks)) {
    out.push_back({{}, entry.text});
    for (const std::uint8_t number : entry.inks) out.back().colors.push_back(table[number].color);
  }
  const auto has = [&](SegmentKind kind) {
    const auto of_kind = [kind](const AxisBand& band) { return band.kind == kind; };
    return std::ranges::any_of(bands, [&](const AxisBands& panel) {
      return std::ranges::any_of(panel.q, of_kind) || std::ranges::any_of(panel.k, of_kind);
    });
  };
  if (has(SegmentKind::kPadding)) out.push_back({{segment_colors()[kPaddingColor]}, "padding"});
  if (has(SegmentKind::kMixed)) {
    out.push_back({{segment_colors()[kMixedColor]}, "several segments"});
  }
  return out;
}

Index Sheet::Axis::pixel(Index cell) const {
  return std::min((cell - cells.begin) * unit / step, size);
}

/// The pixel of a tick: the middle of the cell if each unit is one cell, else the edge of the cell.
Index Sheet::Axis::tick(Index cell) const { return pixel(cell) + (step == 1 ? unit / 2 : 0); }

std::string Sheet::Axis::last() const {
  return std::to_string(std::max(cells.end - 1, cells.begin));
}

Sheet::Sheet(const Figure& figure, const PictureOptions& options, const std::vector<InkGrid>& grids)
    : figure_(figure), options_(options), grids_(grids) {
  const InkGrid& grid = grids.front();
  unit_ = unit_size(figure, grid, options);
  q_ = {grid.q, grid.q_step, unit_.height, grid.rows * unit_.height};
  k_ = {grid.k, grid.k_step, unit_.width, grid.columns * unit_.width};
  for (const Panel& panel : figure.panels) {
    bands_.push_back({});
    if (options.axes) bands_.back() = axis_bands(figure, panel, grid.q_step, grid.k_step);
    if (!bands_.back().q.empty()) q_band_ = kBandWidth;
    if (!bands_.back().k.empty()) k_band_ = kBandWidth;
  }
  measure();
}

void Sheet::measure() {
  place_panels();
  if (options_.title) {
    title_ = title_lines(figure_, (width_ - 2 * kMargin) / kCharWidth);
    const Index lines = std::ssize(title_) * kLine;
    for (Placed& panel : panels_) {
      panel.y += lines;
      panel.top += lines;
    }
    height_ += lines;
  }
  legend_top_ = height_;
  if (options_.legend && !grids_.front().inks.empty()) place_legend();
}

/// Places the panels from y = kMargin on, as if there were no title.
void Sheet::place_panels() {
  const Index across = panels_across(figure_);
  Index left = 0, right = 0, top = 0;
  if (options_.axes) {
    left = kTextHeight + kGap + text_width(q_.last()) + kTickLength + kGap + q_band_;
    right = text_width(k_.last()) / 2;
    top = kLine + kTextHeight + kTickLength + kGap + k_band_;
  }
  Index panel_width = left + k_.size + right;
  if (figure_.panels.size() > 1) panel_width = std::max(panel_width, kLeastCaption);
  width_ = std::max(across * (panel_width + kMargin) + kMargin, kLeastWidth);
  const Index caption_width = across == 1 ? width_ - 2 * kMargin : panel_width;

  Index lines = 0;
  for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
    panels_.push_back({});
    if (!options_.title) continue;
    panels_[i].caption = fill_lines(caption_words(figure_, figure_.panels[i], grids_[i]), 1,
                                    caption_width / kCharWidth);
    lines = std::max(lines, Index{std::ssize(panels_[i].caption)});
  }
  const Index above = lines * kLine + (lines > 0 ? kGap : 0) + top;
  const Index below = std::max(q_.size, grids_.front().inks.empty() ? kTextHeight : 0) + kMargin;
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    const auto row = static_cast<Index>(i) / across, column = static_cast<Index>(i) % across;
    panels_[i].x = kMargin + column * (panel_width + kMargin);
    panels_[i].y = kMargin + row * (above + below);
    panels_[i].left = panels_[i].x + left;
    panels_[i].top = panels_[i].y + above;
    height_ = panels_[i].top + below;
  }
}

/// Breaks the legend into lines, and adds their height to the sheet.
void Sheet::place_legend() {
  const bool pixel = q_.unit == 1 && k_.unit == 1;
  Index room = 0;
  for (Swatches& item : swatches(grids_, bands_, options_.palette, pixel ? "pixel" : "square")) {
    if (legend_.empty() || room < width_of(item)) {
      legend_.emplace_back();
      room = width_ - 2 * kMargin;
    }
    room -= width_of(item) + 2 * kCharWidth;
    legend_.back().push_back(std::move(item));
  }
  height_ += std::ssize(legend_) * kLine + kMargin;
}

void Sheet::draw(Surface& surface) const {
  Index y = kMargin;
  for (const std::string& line : title_) {
    surface.text(kMargin, y, line, kBlack, Anchor::kStart);
    y += kLine;
  }
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    const Placed& panel = panels_[i];
    y = panel.y;
    for (const std::string& line : panel.caption) {
      surface.text(panel.x, y, line, kBlack, Anchor::kStart);
      y += kLine;
    }
    if (grids_[i].inks.empty()) {
      surface.text(panel.left, panel.top, "(empty)", kBlack, Anchor::kStart);
      continue;
    }
    surface.fill(panel.left - 1, panel.top - 1, k_.size + 2, q_.size + 2, kFrameColor);
    surface.cells(panel.left, panel.top, grids_[i], unit_);
    if (options_.axes) draw_axes(panel, bands_[i], surface);
  }
  draw_legend(surface);
}

void Sheet::draw_axes(const Placed& panel, const AxisBands& bands, Surface& surface) const {
  const Index k_line = panel.top - 1 - k_band_, q_line = panel.left - 1 - q_band_;
  const Index numbers = k_line - kTickLength - kTextHeight;
  const Index k_ticks =
      tick_step(k_.cells.size(), k_.size / (text_width(k_.last()) + 2 * kCharWidth));
  for (Index cell = k_.cells.begin; cell < k_.cells.end; cell += k_ticks) {
    const Index x = panel.left + k_.tick(cell);
    surface.fill(x, k_line - kTickLength, 1, kTickLength, kBlack);
    surface.text(x, numbers, std::to_string(cell), kBlack, Anchor::kMiddle);
  }
  const Index q_ticks = tick_step(q_.cells.size(), q_.size / (2 * kLine));
  for (Index cell = q_.cells.begin; cell < q_.cells.end; cell += q_ticks) {
    const Index y = panel.top + q_.tick(cell);
    surface.fill(q_line - kTickLength, y, kTickLength, 1, kBlack);
    surface.text(q_line - kTickLength - kGap / 2, y - kTextHeight / 2, std::to_string(cell), kBlack,
                 Anchor::kEnd);
  }
  surface.text(panel.left + k_.size / 2, numbers - kLine, "keys", kBlack, Anchor::kMiddle);
  surface.text(panel.x, panel.top + q_.size / 2, text_width("queries") <= q_.size ? "queries" : "q",
               kBlack, Anchor::kMiddle, true);
  draw_bands(panel, bands, surface);
}

void Sheet::draw_bands(const Placed& panel, const AxisBands& bands, Surface& surface) const {
  constexpr Index kThick = kBandWidth - 3, kText = (kThick - kTextHeight) / 2;
  const auto draw = [&](const AxisBand& band, const Axis& axis, bool rising) {
    const Index begin = axis.pixel(band.cells.begin), size = axis.pixel(band.cells.end) - begin;
    const Rgb color = segment_colors()[band.color];
    const Index x = rising ? panel.left - kBandWidth : panel.left + begin;
    const Index y = rising ? panel.top + begin : panel.top - kBandWidth;
    surface.fill(x, y, rising ? kThick : size, rising ? size : kThick, color, band_title(band));
    const std::string text = band_text(band);
    if (text_width(text) + 2 > size) return;
    surface.text(x + (rising ? kText : size / 2), y + (rising ? size / 2 : kText), text,
                 is_light(color) ? kBlack : kWhite, Anchor::kMiddle, rising);
  };
  for (const AxisBand& band : bands.k) draw(band, k_, false);
  for (const AxisBand& band : bands.q) draw(band, q_, true);
}

void Sheet::draw_legend(Surface& surface) const {
  Index y = legend_top_;
  for (const auto& line : legend_) {
    Index x = kMargin;
    for (const Swatches& item : line) {
      for (const Rgb& color : item.colors) {
        surface.fill(x, y + 1, kSwatch, kSwatch, kFrameColor);
        surface.fill(x + 1, y + 2, kSwatch - 2, kSwatch - 2, color);
        x += kSwatch;
      }
      if (!item.colors.empty()) x += kGap;
      surface.text(x, y, item.text, kBlack, Anchor::kStart);
      x += text_width(item.text) + 2 * kCharWidth;
    }
    y += kLine;
  }
}

}  // namespace maskctl
