#include "maskctl/render/picture/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/render/figure/words.h"
#include "maskctl/render/picture/markup.h"
#include "maskctl/render/picture/sheet.h"
#include "maskctl/render/picture/svg.h"

namespace maskctl {
namespace {

constexpr std::array<Index, 4> kZooms = {1, 2, 4, 8};
constexpr Index kPixelsPerNumber = 80, kPixelsPerLine = 48;
/// Segment ids are left out of an axis that has more bands than this.
constexpr Index kMostBands = 4096;

/// The style sheet. Sizes that depend on the picture are variables: --w and --h are the pixels of
/// the matrix at zoom 1, --b the pixels of the bands.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fff; --ink: #111; --soft: #666; }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --ink: #eee; --soft: #aaa; } }
body { margin: 1rem; background: var(--page); color: var(--ink); font: 15px/1.4 system-ui, sans-serif; }
h1 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
p, ul { margin: .3rem 0; }
ul { padding: 0; list-style: none; }
li { display: inline-block; margin-right: 1.2rem; }
.swatch { display: inline-block; width: .9em; height: .9em; border: 1px solid var(--soft);
  vertical-align: -.1em; }
.view { overflow: auto; max-height: 85vh; margin-top: .5rem; }
.sheet { --z: 1; display: grid; width: max-content; padding: 0 3rem 1rem 0;
  grid-template-columns: auto calc(var(--z) * var(--w)); }
.corner, .k, .q { position: sticky; background: var(--page); font: 12px/1.2 monospace; }
.corner { top: 0; left: 0; z-index: 3; margin: 0 10px 8px 0; color: var(--soft); text-align: right; }
.k { top: 0; z-index: 2; height: 3rem; }
.q { left: 0; z-index: 1; width: 6.5rem; height: calc(var(--z) * var(--h)); }
.cells { width: calc(var(--z) * var(--w)); height: calc(var(--z) * var(--h)); outline: 1px solid var(--soft); }
.cells svg, .cells img { display: block; width: 100%; height: 100%; image-rendering: pixelated; }
.tick { display: none; position: absolute; white-space: nowrap; }
.k .tick { bottom: var(--b); transform: translateX(-50%); padding-bottom: 5px; }
.k .tick::after { content: ''; position: absolute; left: 50%; bottom: 0; height: 5px; border-left: 1px solid; }
.q .tick { right: var(--b); transform: translateY(-50%); padding-right: 7px; }
.q .tick::after { content: ''; position: absolute; top: 50%; right: 0; width: 5px; border-top: 1px solid; }
.band { position: absolute; overflow: hidden; text-align: center; font-size: 11px; line-height: 16px; }
.k .band { bottom: 3px; height: 16px; }
.q .band { right: 3px; width: 16px; writing-mode: vertical-rl; }
)";

std::string zoom_style() {
  std::string out;
  for (const Index zoom : kZooms) {
    out += fmt::format(
        "#zoom{0}:checked ~ .view .sheet {{ --z: {0}; }}\n"
        "#zoom{0}:checked ~ .view .z{0} {{ display: block; }}\n",
        zoom);
  }
  return out;
}

std::string percent_of(Index part, Index whole) {
  return fmt::format("{:.4f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// The numbers of one ruler, each with the zooms at which it is shown. `side` is "left" or "top".
std::string ticks(Range cells, Index pixels, Index room, const char* side) {
  const Index extent = cells.size();
  std::array<Index, kZooms.size()> steps{};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = tick_step(extent, pixels * kZooms[i] / room);
  }
  std::string out;
  const bool middle = pixels * kZooms.back() >= 8 * extent;
  for (Index cell = 0; cell < extent; ++cell) {
    std::string shown;
    Index next = extent;  // the next cell that has a number
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (cell % steps[i] == 0) shown += fmt::format(" z{}", kZooms[i]);
      next = std::min(next, (cell / steps[i] + 1) * steps[i]);
    }
    out += fmt::format("<span class=\"tick{}\" style=\"{}:{}\">{}</span>\n", shown, side,
                       percent_of(2 * cell + (middle ? 1 : 0), 2 * extent), cells.begin + cell);
    cell = next - 1;
  }
  return out;
}

std::string bands(const std::vector<AxisBand>& list, Range cells, const char* side,
                  const char* size) {
  std::string out;
  if (std::ssize(list) > kMostBands) return out;
  for (const AxisBand& band : list) {
    const Rgb color = segment_colors()[band.color];
    out += fmt::format(
        "<span class=\"band\" style=\"{}:{};{}:{};background:{};color:{}\" "
        "title=\"{}\">{}</span>\n",
        side, percent_of(band.cells.begin - cells.begin, cells.size()), size,
        percent_of(band.cells.size(), cells.size()), hex_color(color),
        is_light(color) ? "#000" : "#fff", band_title(band), band_text(band));
  }
  return out;
}

std::string legend(const std::vector<Swatches>& entries) {
  std::string out = "<ul>\n";
  for (const Swatches& entry : entries) {
    out += "<li>";
    for (const Rgb& color : entry.colors) {
      out +=
          fmt::format("<span class=\"swatch\" style=\"background:{}\"></span>", hex_color(color));
    }
    out += (entry.colors.empty() ? "" : " ") + entry.text + "</li>\n";
  }
  return out + "</ul>\n";
}

std::string zoom_choice() {
  std::string out = "Zoom:\n";
  for (const Index zoom : kZooms) {
    out += fmt::format(
        "<input type=\"radio\" name=\"zoom\" id=\"zoom{0}\"{1}><label "
        "for=\"zoom{0}\">{0}x</label>\n",
        zoom, zoom == 1 ? " checked" : "");
  }
  return out;
}

/// The markup of one panel with its rulers.
std::string panel_view(const InkGrid& grid, const AxisBands& axis, UnitSize unit, bool axes,
                       const std::string& caption, const std::string& cells) {
  const Index width = grid.columns * unit.width, height = grid.rows * unit.height;
  std::string out = fmt::format(
      "<div class=\"view\" tabindex=\"0\">\n<div class=\"sheet\" "
      "style=\"--w:{}px;--h:{}px;--b:{}px\">\n",
      width, height, axis.q.empty() && axis.k.empty() ? 2 : 22);
  out += "<div class=\"corner\">keys &rarr;<br>queries &darr;</div>\n";
  out += "<div class=\"k\" aria-label=\"keys\">\n";
  if (axes) {
    out += ticks(grid.k, width, kPixelsPerNumber, "left") + bands(axis.k, grid.k, "left", "width");
  }
  out += "</div>\n<div class=\"q\" aria-label=\"queries\">\n";
  if (axes) {
    out += ticks(grid.q, height, kPixelsPerLine, "top") + bands(axis.q, grid.q, "top", "height");
  }
  return out + fmt::format(
                   "</div>\n<div class=\"cells\" role=\"img\" aria-label=\"{}\">\n{}</div>\n"
                   "</div>\n</div>\n",
                   caption, cells);
}

std::string body(const Figure& figure, const PictureOptions& options,
                 const std::vector<InkGrid>& grids, const std::vector<std::string>& cells) {
  const InkGrid& first = grids.front();
  std::vector<AxisBands> axes;
  for (const Panel& panel : figure.panels) {
    axes.push_back(axis_bands(figure, panel, first.q_step, first.k_step));
  }
  const bool empty = first.inks.empty();
  std::string out;
  if (options.legend && !empty) out += legend(swatches(grids, axes, options.palette, "square"));
  if (!empty) out += zoom_choice();
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const auto words = caption_words(figure, figure.panels[i], grids[i]);
    const std::string caption = escape_markup(fill_lines(words, 1, 0).front());
    if (options.title) out += "<p>" + caption + "</p>\n";
    out += empty ? "<p>(empty)</p>\n"
                 : panel_view(grids[i], axes[i], unit_size(figure, first, options), options.axes,
                              caption, cells[i]);
  }
  return out;
}

}  // namespace

std::string svg_element(const InkGrid& grid, Palette palette, UnitSize unit) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\" "
      "aria-hidden=\"true\">\n{}</svg>\n",
      grid.columns * unit.width, grid.rows * unit.height,
      svg_cells(grid, grid_rects(grid), palette, unit));
}

std::string png_element(std::span<const std::byte> png) {
  return fmt::format("<img alt=\"\" src=\"data:image/png;base64,{}\">\n", base64(png));
}

std::string draw_html(const Figure& figure, const PictureOptions& options,
                      const std::vector<InkGrid>& grids, const std::vector<std::string>& cells) {
  const std::vector<std::string> title = title_lines(figure, 0);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n"
      "<style>{}{}</style>\n</head>\n<body>\n",
      title.empty() ? "mask" : escape_markup(title.front()), kStyle, zoom_style());
  if (options.title) {
    for (const std::string& line : title) out += "<h1>" + escape_markup(line) + "</h1>\n";
  }
  return out + body(figure, options, grids, cells) + "</body>\n</html>\n";
}

}  // namespace maskctl
