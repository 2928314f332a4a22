// A picture of one plane in characters: cells, rulers, segment ids, legend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/plane.h"
#include "maskctl/render/figure/density.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl {

/// What a character shows. A pixel represents q_step x k_step elements.
///   kAuto      kHalf with one pixel per element if that fits, else kShade
///   kShade     one pixel on two characters (square), density by " ░▒▓█"
///   kAscii     the same by " .:+#"; every character of the drawing is ASCII
///   kHalf      two pixels above each other (square): blank ▀ ▄ █
///   kQuadrant  2 x 2 pixels, half as wide as high
///   kBraille   4 x 2 pixels (rows x columns), square
enum class Style : std::uint8_t { kAuto, kShade, kHalf, kBraille, kQuadrant, kAscii };

/// When a pixel of kHalf, kQuadrant or kBraille is on: if any element is open, all are, or more
/// than half.
enum class Agg : std::uint8_t { kAny, kAll, kMajority };

enum class Palette : std::uint8_t { kCividis, kViridis, kGrey };

/// A pixel for each element.
inline constexpr BlockSize kOneElement{1, 1};

struct DrawOptions {
  Style style = Style::kAuto;
  /// The most rows (columns) of the whole drawing, including rulers and legend; 0 = no limit.
  Index max_rows = 0;
  Index max_columns = 0;
  /// Elements per pixel. If not set: the smallest powers of two that fit, equal on both axes if the
  /// shorter axis still gets enough pixels. Without limits it is 1 x 1.
  std::optional<BlockSize> block;
  Agg agg = Agg::kAny;
  bool color = false;  // colours; the glyphs are meaningful without them
  Palette palette = Palette::kCividis;
  bool grid = false;   // draw a dot where nothing is open
  bool border = true;  // box and ticks around the cells
  bool title = true;
  /// The part to draw; everything if not set. Rulers show the indices of the plane.
  std::optional<Range> queries, keys;
  /// Ids along both axes, one for each query and key of the whole plane; empty = not shown. A run
  /// of equal ids shows its id once in full, at its start; `*` means mixed, `-` padding.
  std::span<const std::int32_t> q_segments, k_segments;
  std::int32_t pad_id = -1;
  /// Marks pixels in which this plane (of equal extents) has an open element: orange, or `!`
  /// without colour. For leaks and differences.
  PlanePtr highlight;
  /// B of an overlay (of equal extents); the drawn plane is A. Signs show what is in both, only in
  /// A (-), only in B (+); one differing element decides its pixel, and a pixel with both kinds is
  /// x. The style is kAscii or else kShade; highlight, grid and palette are not used.
  PlanePtr other;
  /// Shown in the title; -1 = not shown.
  Index batch = -1, head = -1;
};

/// The whole drawing; the legend is its last line (or lines, if the width is small). A plane
/// without queries or keys gives "(empty)".
/// Throws Error(kInvalidArgument) for a limit too small for any drawing, a block that does not fit
/// into the limits, ids, a highlight or B of another extent, ranges outside the plane.
Canvas draw(const Plane& plane, const DrawOptions& options);
/// draw() as text, with colour sequences if options.color.
std::string draw_text(const Plane& plane, const DrawOptions& options);

/// Pixels per character of a style (kAuto: those of kHalf).
struct PixelShape {
  Index rows = 1;        // pixels above each other in one character
  Index columns = 1;     // pixels next to each other in one character
  Index characters = 1;  // characters next to each other for one pixel (2 if doubled)
};
PixelShape pixel_shape(Style style);

/// Draws only the cells, without rulers. `highlight`, if given, has the shape of `grid`.
Canvas draw_cells(const DensityGrid& grid, const DrawOptions& options,
                  const DensityGrid* highlight = nullptr);

/// The glyph number of Style::kShade for `open` of `area` elements: 0 none, 1 below a third, 2
/// below two thirds, 3 below all, 4 all. 0 and 4 are exact: a single element is never rounded away.
int density_level(Index open, Index area);
/// The xterm-256 colour of a density; none and all have their own colours.
std::int16_t density_color(Palette palette, Index open, Index area);
/// A colour of the Okabe-Ito cycle. Never the only sign: the id is printed too.
std::int16_t segment_color(std::int32_t id);

}  // namespace maskctl
