#include "maskctl/render/picture/raster.h"

#include <algorithm>

#include "maskctl/render/figure/words.h"
#include "maskctl/render/picture/bitmap_font.h"
#include "maskctl/render/picture/sheet.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostColors = 256;

Rgb blended(Rgb below, Rgb above, int coverage) {
  const auto mix = [coverage](int b, int a) {
    return static_cast<std::uint8_t>(b + (a - b) * coverage / kFullCoverage);
  };
  return {mix(below.r, above.r), mix(below.g, above.g), mix(below.b, above.b)};
}

/// Draws into a raster whose palette begins with the inks and grows as colours are used. What is
/// outside the raster is cut off.
class RasterSurface final : public Surface {
 public:
  RasterSurface(Index width, Index height, InkSet set, Palette palette) : palette_(palette) {
    for (const Ink& ink : inks(set, palette)) raster_.palette.push_back(ink.color);
    // draw_cells_raster() has this colour at the same index
    raster_.palette.push_back(kFrameColor);
    raster_.width = width;
    raster_.height = height;
    raster_.pixels.assign(as_size(width * height), index_of({255, 255, 255}));
  }

  void fill(Index x, Index y, Index width, Index height, Rgb color, const std::string&) override {
    const Range columns = intersect({x, x + width}, {0, raster_.width});
    const Range rows = intersect({y, y + height}, {0, raster_.height});
    const std::uint8_t index = index_of(color);
    for (Index row = rows.begin; row < rows.end && !columns.empty(); ++row) {
      std::fill_n(&raster_.pixel(columns.begin, row), columns.size(), index);
    }
  }

  void text(Index x, Index y, const std::string& utf8, Rgb color, Anchor anchor,
            bool rising) override {
    const std::string text = ascii_text(utf8);
    const Index length = std::ssize(text) * kFontWidth;
    const Index before = anchor == Anchor::kStart    ? 0
                         : anchor == Anchor::kMiddle ? length / 2
                                                     : length;
    Index along = -before;
    for (const char character : text) {
      for (Index row = 0; row < kFontHeight; ++row) {
        for (Index column = 0; column < kFontWidth; ++column, ++along) {
          const int coverage = font_coverage(character, row, column);
          if (coverage == 0) continue;
          rising ? dot(x + row, y - 1 - along, color, coverage)
                 : dot(x + along, y + row, color, coverage);
        }
        along -= kFontWidth;
      }
      along += kFontWidth;
    }
  }

  void cells(Index x, Index y, const InkGrid& grid, UnitSize unit) override {
    const Raster cells = draw_cells_raster(grid, palette_, unit);
    for (Index row = 0; row < cells.height; ++row) {
      std::copy_n(cells.pixels.begin() + row * cells.width, cells.width,
                  &raster_.pixel(x, y + row));
    }
  }

  Raster take() { return std::move(raster_); }

 private:
  void dot(Index x, Index y, Rgb color, int coverage) {
    if (x < 0 || y < 0 || x >= raster_.width || y >= raster_.height) return;
    raster_.pixel(x, y) = index_of(blended(raster_.at(x, y), color, coverage));
  }

  /// The index of a colour, which is added to the palette if needed. If the palette is full, the
  /// last colour is used instead.
  std::uint8_t index_of(Rgb color) {
    auto& palette = raster_.palette;
    const auto found = std::find(palette.begin(), palette.end(), color);
    if (found == palette.end() && palette.size() < kMostColors) {
      palette.push_back(color);
      return static_cast<std::uint8_t>(palette.size() - 1);
    }
    return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(found - palette.begin(), 255));
  }

  Palette palette_;
  Raster raster_;
};

}  // namespace

Raster draw_cells_raster(const InkGrid& grid, Palette palette, UnitSize unit) {
  Raster out;
  out.width = grid.columns * unit.width;
  out.height = grid.rows * unit.height;
  for (const Ink& ink : inks(grid.set, palette)) out.palette.push_back(ink.color);
  const auto line = static_cast<std::uint8_t>(out.palette.size());
  const bool lines = unit.lined();
  if (lines) out.palette.push_back(kFrameColor);
  out.pixels.resize(as_size(out.width * out.height));
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

Raster draw_raster(const Figure& figure, const PictureOptions& options) {
  const std::vector<InkGrid> grids = picture_grids(figure, options);
  const Sheet sheet(figure, options, grids);
  RasterSurface surface(sheet.width(), sheet.height(), grids.front().set, options.palette);
  sheet.draw(surface);
  return surface.take();
}

}  // namespace maskctl
