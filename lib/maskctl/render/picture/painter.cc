#include "maskctl/render/picture/painter.h"

#include <algorithm>

namespace maskctl {
namespace {

constexpr Rgb kExtraColors[kExtras] = {{255, 255, 255}, {0, 0, 0}, {255, 255, 255}, kFrameColor};

}  // namespace

Painter::Painter(Index width, Index height, const std::vector<Rgb>& cell_colors)
    : segments_(cell_colors.size()), extras_(segments_ + segment_colors().size()) {
  raster_.width = width;
  raster_.height = height;
  raster_.palette = cell_colors;
  for (const Rgb& color : segment_colors()) raster_.palette.push_back(color);
  for (const Rgb& color : kExtraColors) raster_.palette.push_back(color);
  raster_.pixels.assign(static_cast<std::size_t>(width * height), extra(kBackground));
}

void Painter::fill(Index x, Index y, Index width, Index height, std::uint8_t color) {
  const Range columns = intersect({x, x + width}, {0, raster_.width});
  const Range rows = intersect({y, y + height}, {0, raster_.height});
  if (columns.empty()) return;
  for (Index row = rows.begin; row < rows.end; ++row) {
    std::fill_n(raster_.pixels.begin() + row * raster_.width + columns.begin, columns.size(),
                color);
  }
}

void Painter::frame(Index x, Index y, Index width, Index height, std::uint8_t color) {
  fill(x, y, width, 1, color);
  fill(x, y + height - 1, width, 1, color);
  fill(x, y, 1, height, color);
  fill(x + width - 1, y, 1, height, color);
}

void Painter::text(Index x, Index y, std::string_view text, std::uint8_t color, bool rising) {
  for (const char character : text) {
    for (Index row = 0; row < kFontHeight; ++row) {
      for (Index column = 0; column < kFontWidth; ++column) {
        if (!font_dot(character, row, column)) continue;
        const Index along = column * kDot, across = row * kDot;
        if (rising) {
          fill(x + across, y - along - kDot, kDot, kDot, color);
        } else {
          fill(x + along, y + across, kDot, kDot, color);
        }
      }
    }
    (rising ? y : x) += rising ? -kCharWidth : kCharWidth;
  }
}

void Painter::paste(Index x, Index y, const Raster& cells) {
  for (Index row = 0; row < cells.height; ++row) {
    std::copy_n(cells.pixels.begin() + row * cells.width, cells.width,
                raster_.pixels.begin() + (y + row) * raster_.width + x);
  }
}

}  // namespace maskctl
