#include "maskctl/render/picture/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/render/figure/axis.h"
#include "maskctl/render/picture/markup.h"
#include "maskctl/render/picture/raster.h"

namespace maskctl {
namespace {

// In pixels. The font is monospaced, so the width of a text is known well enough.
constexpr double kCharWidth = 7.8;
constexpr Index kFontSize = 13, kLine = 18, kMargin = 12, kTickLength = 5, kBandWidth = 17;
constexpr Index kSwatch = 12, kLeastWidth = 320, kMostLines = 64;
constexpr const char* kLineColor = "#787878";

Index text_width(std::string_view text) {
  return static_cast<Index>(static_cast<double>(utf8_length(text)) * kCharWidth) + 1;
}

std::string text_element(Index x, Index y, const std::string& text, const std::string& more = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, more, escape_markup(text));
}

std::string rect_element(Index x, Index y, Index width, Index height, const std::string& fill,
                         const std::string& title = "") {
  const std::string tag = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", x, y, width, height, fill);
  return title.empty() ? tag + "/>\n" : tag + "><title>" + title + "</title></rect>\n";
}

/// The grid with the smallest blocks for which there are few enough rectangles.
struct Shapes {
  InkGrid grid;
  std::vector<InkRect> rects;
};

Shapes shapes_of(const PictureInput& input, const PictureOptions& options) {
  for (Index size = options.max_size;; size /= 2) {
    const Index units = std::max<Index>(size / std::max<Index>(options.scale, 1), 1);
    Shapes out{ink_grid(input, units, units), {}};
    out.rects = grid_rects(out.grid);
    if (out.rects.size() <= kMaxSvgRects || units == 1) return out;
  }
}

/// One axis, in pixels from the first cell.
struct Axis {
  Index extent = 0, size = 0;
  std::vector<AxisBand> bands;

  double pixel(Index cell) const {
    return static_cast<double>(cell) * static_cast<double>(size) / static_cast<double>(extent);
  }
  /// The middle of a cell, if cells have room for a number.
  Index tick(Index cell) const {
    const double half = size >= 2 * extent ? 0.5 : 0.0;
    return static_cast<Index>(pixel(cell) + half * pixel(1));
  }
  std::string last() const { return std::to_string(std::max<Index>(extent - 1, 0)); }
};

class Document {
 public:
  Document(const PictureInput& input, const PictureOptions& options, const Shapes& shapes)
      : input_(input), options_(options), grid_(shapes.grid), shapes_(shapes) {
    const UnitSize unit = unit_size(grid_, options);
    q_ = {grid_.queries, grid_.rows * unit.height, {}};
    k_ = {grid_.keys, grid_.columns * unit.width, {}};
    if (options.axes) {
      q_.bands = axis_bands(input.q_segments, grid_.q_step, input.pad_id);
      k_.bands = axis_bands(input.k_segments, grid_.k_step, input.pad_id);
    }
    left_ = top_ = kMargin;
    Index right = kMargin;
    if (options.axes) {
      left_ +=
          kLine + text_width(q_.last()) + 2 * kTickLength + (q_.bands.empty() ? 0 : kBandWidth);
      right += text_width(k_.last()) / 2;
    }
    width_ = std::max(left_ + k_.size + right, kLeastWidth);
  }

  std::string text() {
    if (options_.title) add_title();
    if (options_.axes) top_ += 2 * kLine + kTickLength + (k_.bands.empty() ? 0 : kBandWidth);
    Index bottom = top_ + kLine;
    if (grid_.inks.empty()) {
      body_ += text_element(left_, top_ + kFontSize, "(empty)");
    } else {
      if (options_.axes) add_axes();
      body_ += svg_cells(grid_, shapes_.rects, options_.palette,
                         fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", left_, top_,
                                     k_.size, q_.size));
      body_ += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
          "stroke=\"#787878\"/>\n",
          left_, top_, k_.size, q_.size);
      bottom = top_ + q_.size + kMargin;
      if (options_.legend) bottom = add_legend(bottom);
    }
    return head(bottom + kMargin) + body_ + "</svg>\n";
  }

 private:
  std::string head(Index height) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" role=\"img\" aria-labelledby=\"title desc\" font-family=\"monospace\" "
        "font-size=\"{2}\">\n<title id=\"title\">{3}</title>\n<desc id=\"desc\">{4}</desc>\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        width_, height, kFontSize, escape_markup(picture_name(input_)),
        escape_markup(picture_statistics(input_, grid_.counts)));
  }

  void add_title() {
    const auto room = static_cast<Index>(static_cast<double>(width_ - 2 * kMargin) / kCharWidth);
    for (const std::string& text :
         {picture_name(input_), picture_statistics(input_, grid_.counts)}) {
      for (const std::string& line : wrapped_text(text, room)) {
        body_ += text_element(kMargin, top_ + kFontSize, line);
        top_ += kLine;
      }
    }
  }

  void add_axes() {
    const Index k_line = top_ - (k_.bands.empty() ? 0 : kBandWidth);
    const Index q_line = left_ - (q_.bands.empty() ? 0 : kBandWidth);
    std::string marks;
    const Index k_step = tick_step(k_.extent, k_.size / (text_width(k_.last()) + 2 * kMargin));
    for (Index cell = 0; cell < k_.extent; cell += k_step) {
      const Index x = left_ + k_.tick(cell);
      marks += fmt::format("M{} {}v-{}", x, k_line, kTickLength);
      body_ += text_element(x, k_line - kTickLength - 3, std::to_string(cell),
                            " text-anchor=\"middle\"");
    }
    const Index q_step = tick_step(q_.extent, q_.size / (3 * kLine));
    for (Index cell = 0; cell < q_.extent; cell += q_step) {
      const Index y = top_ + q_.tick(cell);
      marks += fmt::format("M{} {}h-{}", q_line, y, kTickLength);
      body_ += text_element(q_line - kTickLength - 3, y + kFontSize / 3, std::to_string(cell),
                            " text-anchor=\"end\"");
    }
    body_ += fmt::format("<path d=\"{}\" stroke=\"#000000\"/>\n", marks);
    body_ += text_element(left_ + k_.size / 2, k_line - kTickLength - kLine, "keys",
                          " text-anchor=\"middle\"");
    const Index middle = top_ + q_.size / 2;
    const char* queries = text_width("queries") <= q_.size ? "queries" : "q";
    body_ += text_element(kMargin + kFontSize, middle, queries,
                          fmt::format(" text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"",
                                      kMargin + kFontSize, middle));
    for (const AxisBand& band : k_.bands) add_band(k_, band, false);
    for (const AxisBand& band : q_.bands) add_band(q_, band, true);
  }

  void add_band(const Axis& axis, const AxisBand& band, bool rising) {
    const auto begin = static_cast<Index>(axis.pixel(band.cells.begin));
    const Index size = std::max<Index>(static_cast<Index>(axis.pixel(band.cells.end)) - begin, 1);
    const Rgb color = segment_colors()[band_color(band.label)];
    const std::string text = label_text(band.label);
    const std::string title = band_title(band);
    const Index along = (rising ? top_ : left_) + begin, thick = kBandWidth - 2;
    body_ += rising ? rect_element(left_ - kBandWidth, along, thick, size, hex_color(color), title)
                    : rect_element(along, top_ - kBandWidth, size, thick, hex_color(color), title);
    if (text_width(text) + 2 > size) return;
    const Index middle = along + size / 2;
    const Index x = rising ? left_ - 5 : middle, y = rising ? middle : top_ - 5;
    std::string more =
        fmt::format(" text-anchor=\"middle\" fill=\"{}\"", is_light(color) ? "#000000" : "#ffffff");
    if (rising) more += fmt::format(" transform=\"rotate(-90 {} {})\"", x, y);
    body_ += text_element(x, y, text, more);
  }

  /// Returns the y at which the legend ends.
  Index add_legend(Index top) {
    const std::vector<Rgb> colors = ink_colors(grid_.set, options_.palette);
    Index x = kMargin, y = top;
    const auto place = [&](Index width) {
      if (x > kMargin && x + width > width_ - kMargin) {
        x = kMargin;
        y += kLine;
      }
      x += width + kMargin;
      return x - width - kMargin;
    };
    const std::string unit = unit_text(grid_, "square");
    if (!unit.empty()) body_ += text_element(place(text_width(unit)), y + kFontSize - 2, unit);
    const auto add = [&](const std::vector<Rgb>& swatches, const std::string& text) {
      Index at = place(static_cast<Index>(swatches.size()) * kSwatch + 4 + text_width(text));
      for (const Rgb& color : swatches) {
        body_ += fmt::format(
            "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" fill=\"{3}\" "
            "stroke=\"{4}\"/>\n",
            at, y, kSwatch, hex_color(color), kLineColor);
        at += kSwatch;
      }
      body_ += text_element(at + 4, y + kFontSize - 2, text);
    };
    for (const LegendEntry& entry : legend_entries(grid_.set, grid_.blocks)) {
      std::vector<Rgb> swatches;
      for (const std::uint8_t number : entry.inks) swatches.push_back(colors[number]);
      add(swatches, entry.text);
    }
    for (const BandLegend& band : band_legend(q_.bands, k_.bands)) {
      add({segment_colors()[band.color]}, band.text);
    }
    return y + kLine;
  }

  const PictureInput& input_;
  const PictureOptions& options_;
  const InkGrid& grid_;
  const Shapes& shapes_;
  Axis q_, k_;
  Index left_ = 0, top_ = 0, width_ = 0;
  std::string body_;
};

/// Lines between the units of a small picture.
std::string unit_lines(const InkGrid& grid) {
  if (grid.rows > kMostLines || grid.columns > kMostLines) return "";
  std::string lines;
  for (Index row = 1; row < grid.rows; ++row) {
    lines += fmt::format("M0 {}h{}", row * grid.q_step, grid.keys);
  }
  for (Index column = 1; column < grid.columns; ++column) {
    lines += fmt::format("M{} 0v{}", column * grid.k_step, grid.queries);
  }
  return fmt::format(
      "<path fill=\"none\" stroke=\"{}\" vector-effect=\"non-scaling-stroke\" "
      "d=\"{}\"/>\n",
      kLineColor, lines);
}

}  // namespace

std::string svg_cells(const InkGrid& grid, const std::vector<InkRect>& rects, Palette palette,
                      const std::string& attributes) {
  const std::vector<Rgb> colors = ink_colors(grid.set, palette);
  std::vector<std::string> paths(colors.size());
  for (const InkRect& rect : rects) {
    fmt::format_to(std::back_inserter(paths[rect.ink]), "M{} {}h{}v{}h-{}z", rect.k.begin,
                   rect.q.begin, rect.k.size(), rect.q.size(), rect.k.size());
  }
  std::string out = fmt::format(
      "<svg {0} viewBox=\"0 0 {1} {2}\" preserveAspectRatio=\"none\" "
      "shape-rendering=\"crispEdges\">\n<rect width=\"{1}\" height=\"{2}\" fill=\"{3}\"/>\n",
      attributes, grid.keys, grid.queries, hex_color(colors[ink::kNone]));
  for (std::size_t number = 0; number < paths.size(); ++number) {
    if (paths[number].empty()) continue;
    out += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex_color(colors[number]), paths[number]);
  }
  return out + unit_lines(grid) + "</svg>\n";
}

std::string draw_svg(const PictureInput& input, const PictureOptions& options) {
  check_picture(input, options);
  const Shapes shapes = shapes_of(input, options);
  return Document(input, options, shapes).text();
}

}  // namespace maskctl
