#include "maskctl/render/picture/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/render/figure/words.h"
#include "maskctl/render/picture/markup.h"
#include "maskctl/render/picture/sheet.h"

namespace maskctl {
namespace {

/// The size of a monospaced font whose characters are kCharWidth wide.
constexpr double kFontSize = 13.3;
constexpr Index kTextBaseline = 12;  // pixels below the upper edge of a text

const char* anchor_attribute(Anchor anchor) {
  if (anchor == Anchor::kStart) return "";
  return anchor == Anchor::kMiddle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
}

class SvgSurface final : public Surface {
 public:
  explicit SvgSurface(Palette palette) : palette_(palette) {}

  void fill(Index x, Index y, Index width, Index height, Rgb color,
            const std::string& title) override {
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", x, y,
                         width, height, hex_color(color));
    body_ += title.empty() ? "/>\n" : "><title>" + escape_markup(title) + "</title></rect>\n";
  }

  void text(Index x, Index y, const std::string& utf8, Rgb color, Anchor anchor,
            bool rising) override {
    const Index across = x + (rising ? kTextBaseline : 0), down = y + (rising ? 0 : kTextBaseline);
    const std::string rotation =
        rising ? fmt::format(" transform=\"rotate(-90 {} {})\"", across, down) : "";
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\"{}{}>{}</text>\n", across, down,
                         hex_color(color), anchor_attribute(anchor), rotation, escape_markup(utf8));
  }

  void cells(Index x, Index y, const InkGrid& grid, UnitSize unit) override {
    body_ +=
        fmt::format("<g transform=\"translate({} {})\" shape-rendering=\"crispEdges\">\n{}</g>\n",
                    x, y, svg_cells(grid, grid_rects(grid), palette_, unit));
  }

  const std::string& body() const { return body_; }

 private:
  Palette palette_;
  std::string body_;
};

/// The grids with the smallest blocks whose cells take at most kMaxSvgRects rectangles.
std::vector<InkGrid> grids_of(const Figure& figure, PictureOptions options) {
  for (;; options.max_size /= 2) {
    std::vector<InkGrid> grids = picture_grids(figure, options);
    std::size_t rects = 0;
    for (const InkGrid& grid : grids) rects += grid_rects(grid).size();
    if (rects <= kMaxSvgRects || options.max_size < 4) return grids;
  }
}

/// Lines between the units of a small picture, each one pixel wide.
std::string unit_lines(const InkGrid& grid, UnitSize unit) {
  if (!unit.lined() || grid.rows * grid.columns < 2) return "";
  const Index width = grid.columns * unit.width, height = grid.rows * unit.height;
  std::string lines;
  for (Index row = 1; row < grid.rows; ++row) {
    lines += fmt::format("M0 {}h{}v1h-{}z", row * unit.height - 1, width, width);
  }
  for (Index column = 1; column < grid.columns; ++column) {
    lines += fmt::format("M{} 0h1v{}h-1z", column * unit.width - 1, height);
  }
  return fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex_color(kFrameColor), lines);
}

}  // namespace

std::string svg_cells(const InkGrid& grid, const std::vector<InkRect>& rects, Palette palette,
                      UnitSize unit) {
  const std::vector<Ink>& table = inks(grid.set, palette);
  std::vector<std::string> paths(table.size());
  for (const InkRect& rect : rects) {
    const Index width = rect.columns.size() * unit.width;
    paths[rect.ink] +=
        fmt::format("M{} {}h{}v{}h-{}z", rect.columns.begin * unit.width,
                    rect.rows.begin * unit.height, width, rect.rows.size() * unit.height, width);
  }
  std::string out =
      fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", grid.columns * unit.width,
                  grid.rows * unit.height, hex_color(table[ink::kNone].color));
  for (std::size_t number = 0; number < paths.size(); ++number) {
    if (paths[number].empty()) continue;
    out += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex_color(table[number].color),
                       paths[number]);
  }
  return out + unit_lines(grid, unit);
}

std::string draw_svg(const Figure& figure, const PictureOptions& options) {
  check_picture(figure, options);
  const std::vector<InkGrid> grids = grids_of(figure, options);
  const Sheet sheet(figure, options, grids);
  SvgSurface surface(options.palette);
  sheet.draw(surface);
  std::string title, caption;
  for (const std::string& line : title_lines(figure, 0))
    title += (title.empty() ? "" : ", ") + line;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const auto words = caption_words(figure, figure.panels[i], grids[i]);
    caption += (i > 0 ? "; " : "") + fill_lines(words, 1, 0).front();
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" role=\"img\" aria-labelledby=\"title desc\" font-family=\"DejaVu Sans Mono, "
      "monospace\" font-size=\"{2}\">\n<title id=\"title\">{3}</title>\n<desc "
      "id=\"desc\">{4}</desc>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{5}</svg>\n",
      sheet.width(), sheet.height(), kFontSize, escape_markup(title), escape_markup(caption),
      surface.body());
}

}  // namespace maskctl
