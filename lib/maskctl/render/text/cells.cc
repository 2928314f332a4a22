// Draws the cells of a grid, one character for each group of pixels.
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "maskctl/render/text/draw.h"

namespace maskctl {
namespace {

constexpr std::int16_t kGridColor = 240, kMarkColor = 231;

/// The pixels of one character: which of them are on, and how many elements they cover together.
struct Group {
  std::array<bool, 8> on{};  // row-major, pixel_shape(style).columns per row
  Index open = 0;
  Index area = 0;
  bool marked = false;
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

Group group_at(const InkGrid& grid, Agg agg, PixelShape shape, Index row, Index column) {
  Group group;
  for (Index r = 0; r < shape.rows; ++r) {
    for (Index c = 0; c < shape.columns; ++c) {
      const Index gr = row * shape.rows + r, gc = column * shape.columns + c;
      if (gr >= grid.rows || gc >= grid.columns) continue;
      const Index open = grid.open[grid.index(gr, gc)], area = grid.area(gr, gc);
      const bool mark = is_mark(grid.set, grid.at(gr, gc));
      group.on[as_size(r * shape.columns + c)] = mark || pixel_on(open, area, agg);
      group.open += open;
      group.area += area;
      group.marked |= mark;
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
  // Braille dots are numbered down the left column, then down the right one, then along the bottom
  // row.
  static constexpr char32_t kBits[] = {0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};
  char32_t code = 0;
  for (std::size_t i = 0; i < std::size(kBits); ++i) code |= group.on[i] ? kBits[i] : 0;
  return code == 0 ? U' ' : 0x2800 + code;
}

char32_t code_of(const Group& group, Style style) {
  if (style == Style::kQuadrant) return quadrant_code(group);
  return style == Style::kBraille ? braille_code(group) : half_code(group);
}

/// Draws the characters of one grid.
class Cells {
 public:
  Cells(const InkGrid& grid, const DrawOptions& options)
      : grid_(grid), options_(options), inks_(inks(grid.set, options.palette)) {
    for (const Ink& ink : inks_) colors_.push_back(terminal_color(ink.color));
  }

  /// The character for one pixel, if it is shown as a sign, or for the pixels of one group.
  Glyph glyph(Index row, Index column) const {
    const PixelShape shape = pixel_shape(options_.style);
    if (!is_known(row, shape)) return hatch();
    Glyph out = shape.signs() ? sign(grid_.at(row, column)) : group(shape, row, column);
    if (out.code == U' ' && options_.grid) {
      out.code = options_.style == Style::kAscii ? U'-' : U'·';
      if (options_.color) out.fg = kGridColor;
    }
    return out;
  }

 private:
  bool is_known(Index row, PixelShape shape) const {
    const Index end = std::min((row + 1) * shape.rows, grid_.rows);
    for (Index r = row * shape.rows; r < end; ++r) {
      if (!grid_.is_known(r)) return false;
    }
    return true;
  }

  Glyph hatch() const {
    return {.code = options_.style == Style::kAscii ? U'/' : U'╱',
            .fg = options_.color ? kGridColor : kNoColor};
  }

  Glyph sign(std::uint8_t number) const {
    const Ink& ink = inks_[number];
    Glyph out;
    out.code = options_.style == Style::kAscii ? static_cast<char32_t>(ink.ascii) : ink.shade;
    tint(number, out);
    return out;
  }

  Glyph group(PixelShape shape, Index row, Index column) const {
    const Group group = group_at(grid_, options_.agg, shape, row, column);
    Glyph out;
    out.code = code_of(group, options_.style);
    if (group.marked && !options_.color) {
      out.code = U'!';
    } else if (shape.columns == 1) {
      color_half(row, column, out);
    } else {
      tint(group.marked ? ink::kLeak : density_ink(group.open, group.area), out);
    }
    return out;
  }

  /// Colours a glyph for an ink: a mark gets a coloured background, another ink colours the glyph
  /// itself.
  void tint(std::uint8_t number, Glyph& glyph) const {
    if (!options_.color || glyph.code == U' ') return;
    const bool mark = is_mark(grid_.set, number);
    glyph.fg = mark ? kMarkColor : colors_[number];
    if (mark) glyph.bg = colors_[number];
    glyph.bold = mark;
  }

  /// Colours the two pixels of a half-block character, which may have different colours.
  void color_half(Index row, Index column, Glyph& glyph) const {
    if (!options_.color || glyph.code == U' ') return;
    const auto color = [&](Index r) { return colors_[grid_.at(r, column)]; };
    const Index top = 2 * row, bottom = top + 1;
    glyph.fg = color(glyph.code == U'▄' ? bottom : top);
    if (glyph.code == U'█' && color(bottom) != glyph.fg) {
      glyph.code = U'▀';
      glyph.bg = color(bottom);
    }
  }

  const InkGrid& grid_;
  const DrawOptions& options_;
  const std::vector<Ink>& inks_;
  std::vector<std::int16_t> colors_;
};

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

PixelShape pixel_shape(const DrawOptions& options) {
  PixelShape out = pixel_shape(options.style);
  if (!out.signs()) return out;
  out.lines = options.pixel_lines;
  out.characters *= out.lines;
  return out;
}

Canvas draw_cells(const InkGrid& grid, const DrawOptions& options) {
  const PixelShape shape = pixel_shape(options);
  const Index rows = ceil_div(grid.rows, shape.rows);
  const Index columns = ceil_div(grid.columns, shape.columns);
  const Cells cells(grid, options);
  Canvas canvas(rows * shape.lines, columns * shape.characters);
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      const Glyph first = cells.glyph(row, column);
      Glyph rest = first;
      if (options.grid && shape.signs() && grid.is_known(row) &&
          grid.at(row, column) == ink::kNone) {
        rest.code = U' ';  // so that a pixel of several characters shows only one dot
      }
      for (Index i = 0; i < shape.lines * shape.characters; ++i) {
        canvas.put(row * shape.lines + i / shape.characters,
                   column * shape.characters + i % shape.characters, i == 0 ? first : rest);
      }
    }
  }
  return canvas;
}

}  // namespace maskctl
