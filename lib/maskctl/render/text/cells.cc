// Draws one character for each group of pixels.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "maskctl/render/text/draw.h"

namespace maskctl {
namespace {

constexpr std::int16_t kGridColor = 240;
constexpr std::int16_t kHighlightColor = 166;

/// The pixels of one character: which are on, and how much they hold together.
struct Group {
  std::array<bool, 8> on{};  // row-major, pixel_shape(style).columns wide
  Index open = 0;
  Index area = 0;
  bool highlighted = false;
};

bool pixel_on(Index open, Index area, Agg agg) {
  switch (agg) {
    case Agg::kAny:
      return open > 0;
    case Agg::kAll:
      return open == area;
    case Agg::kMajority:
      return open > area - open;
  }
  return false;
}

Group group_at(const DensityGrid& grid, const DensityGrid* highlight, const DrawOptions& options,
               PixelShape shape, Index row, Index column) {
  Group group;
  for (Index r = 0; r < shape.rows; ++r) {
    for (Index c = 0; c < shape.columns; ++c) {
      const Index gr = row * shape.rows + r, gc = column * shape.columns + c;
      if (gr >= grid.rows || gc >= grid.columns) continue;
      const Index open = grid.at(gr, gc), area = grid.area(gr, gc);
      group.on[static_cast<std::size_t>(r * shape.columns + c)] = pixel_on(open, area, options.agg);
      group.open += open;
      group.area += area;
      group.highlighted |= highlight != nullptr && highlight->at(gr, gc) > 0;
    }
  }
  return group;
}

char32_t half_code(const Group& group) {
  return std::array{U' ', U'▄', U'▀', U'█'}[(group.on[0] ? 2u : 0u) + (group.on[1] ? 1u : 0u)];
}

char32_t quadrant_code(const Group& group) {
  static constexpr char32_t kCodes[] = U" ▗▖▄▝▐▞▟▘▚▌▙▀▜▛█";
  std::size_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits = bits * 2 + (group.on[i] ? 1 : 0);
  return kCodes[bits];
}

char32_t braille_code(const Group& group) {
  // Dots are numbered down the left column, then the right one, then along the bottom row.
  static constexpr char32_t kBits[] = {0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};
  char32_t code = 0;
  for (std::size_t i = 0; i < std::size(kBits); ++i) code |= group.on[i] ? kBits[i] : 0;
  return code == 0 ? U' ' : 0x2800 + code;
}

char32_t code_of(const Group& group, Style style) {
  const auto level = static_cast<std::size_t>(density_level(group.open, group.area));
  switch (style) {
    case Style::kShade:
      return U" ░▒▓█"[level];
    case Style::kAscii:
      return U" .:+#"[level];
    case Style::kQuadrant:
      return quadrant_code(group);
    case Style::kBraille:
      return braille_code(group);
    case Style::kAuto:
    case Style::kHalf:
      break;
  }
  return half_code(group);
}

/// Colours the two pixels of a character, which may have different colours.
void color_half(const DensityGrid& grid, Palette palette, Index row, Index column, Glyph& glyph) {
  const Index top = 2 * row, bottom = top + 1;
  const auto color = [&](Index r) {
    return density_color(palette, grid.at(r, column), grid.area(r, column));
  };
  if (glyph.code == U'▄') {
    glyph.fg = color(bottom);
    return;
  }
  glyph.fg = color(top);
  if (glyph.code == U'█' && color(bottom) != glyph.fg) {
    glyph.code = U'▀';
    glyph.bg = color(bottom);
  }
}

Glyph glyph_at(const DensityGrid& grid, const Group& group, const DrawOptions& options, Index row,
               Index column) {
  Glyph glyph;
  glyph.code = code_of(group, options.style);
  if (glyph.code == U' ' && options.grid) {
    glyph.code = options.style == Style::kAscii ? U'-' : U'·';
    if (options.color) glyph.fg = kGridColor;
  } else if (glyph.code != U' ' && options.color) {
    const bool half = options.style == Style::kHalf || options.style == Style::kAuto;
    if (half) {
      color_half(grid, options.palette, row, column, glyph);
    } else {
      glyph.fg = density_color(options.palette, group.open, group.area);
    }
  }
  if (!group.highlighted) return glyph;
  if (!options.color || group.open == 0) glyph.code = U'!';
  if (options.color) glyph.fg = kHighlightColor;
  return glyph;
}

}  // namespace

PixelShape pixel_shape(Style style) {
  switch (style) {
    case Style::kShade:
    case Style::kAscii:
      return {1, 1, 2};
    case Style::kQuadrant:
      return {2, 2, 1};
    case Style::kBraille:
      return {4, 2, 1};
    case Style::kAuto:
    case Style::kHalf:
      break;
  }
  return {2, 1, 1};
}

Canvas draw_cells(const DensityGrid& grid, const DrawOptions& options,
                  const DensityGrid* highlight) {
  const PixelShape shape = pixel_shape(options.style);
  const Index rows = ceil_div(grid.rows, shape.rows);
  const Index columns = ceil_div(grid.columns, shape.columns);
  Canvas canvas(rows, columns * shape.characters);
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      const Group group = group_at(grid, highlight, options, shape, row, column);
      Glyph glyph = glyph_at(grid, group, options, row, column);
      canvas.put(row, column * shape.characters, glyph);
      if (glyph.code == U'·' || glyph.code == U'-') glyph.code = U' ';
      if (shape.characters == 2) canvas.put(row, column * 2 + 1, glyph);
    }
  }
  return canvas;
}

int density_level(Index open, Index area) {
  if (open == 0) return 0;
  if (open == area) return 4;
  const Index closed = area - open;  // areas reach 2^62, so three times that would overflow
  if (2 * open < closed) return 1;
  return open < 2 * closed ? 2 : 3;
}

std::int16_t density_color(Palette palette, Index open, Index area) {
  static constexpr std::int16_t kCividis[] = {17, 23, 240, 242, 243, 245, 143, 185, 221};
  static constexpr std::int16_t kViridis[] = {53, 60, 24, 30, 36, 71, 149, 220};
  static constexpr std::int16_t kGrey[] = {235, 238, 241, 244, 247, 250, 253, 255};
  std::span<const std::int16_t> colors = kCividis;
  if (palette == Palette::kViridis) colors = kViridis;
  if (palette == Palette::kGrey) colors = kGrey;
  if (open == 0) return colors.front();
  if (open == area) return colors.back();
  const auto between = static_cast<double>(colors.size() - 2);
  const double share = static_cast<double>(open) / static_cast<double>(area);
  const auto step = static_cast<std::size_t>(share * between);
  return colors[std::min(1 + step, colors.size() - 2)];
}

std::int16_t segment_color(std::int32_t id) {
  static constexpr std::int16_t kOkabeIto[] = {178, 74, 35, 221, 25, 166, 175, 246};
  return kOkabeIto[static_cast<std::uint32_t>(id) % std::size(kOkabeIto)];
}

}  // namespace maskctl
