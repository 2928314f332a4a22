// A figure in characters: title, captions, rulers, segment ids, cells, legend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "maskctl/render/figure/ink_grid.h"
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
  bool grid = false;   // draw a dot where nothing is open; not for overlays
  bool border = true;  // box and ticks around the cells
  /// kShade and kAscii: lines of a pixel, which is twice as many columns wide.
  Index pixel_lines = 1;
  bool title = true;  // the title of the figure and the captions of its panels
};

/// The whole drawing; the legend is its last line (or lines, if the width is small). Several panels
/// stand beside each other as far as there are columns, and then below; only each panel keeps to
/// max_rows. A leak is `!`, whatever its block holds, on red if there is colour; in half blocks of
/// colour its pixel is red. The signs of an overlay show what is in both masks, only in A (-), only
/// in B (+), and a pixel with both kinds is x. Overlays and tiles are drawn as kAscii or kShade. A
/// run of equal ids shows its id once in full, at its start; `*` means several, `-` padding. Labels
/// need a line for each query and two columns for each key; without room for that they are left
/// out, and the legend says so. A figure without queries or keys gives "(empty)".
/// Throws as check_figure(), and Error(kInvalidArgument) for a limit too small for any drawing and
/// a block that does not fit into the limits.
Canvas draw(const Figure& figure, const DrawOptions& options);
/// draw() as text, with colour sequences if options.color.
std::string draw_text(const Figure& figure, const DrawOptions& options);

/// Pixels per character of a style (kAuto: those of kHalf).
struct PixelShape {
  Index rows = 1;        // pixels above each other in one character
  Index columns = 1;     // pixels next to each other in one character
  Index characters = 1;  // characters next to each other for one pixel (2 if doubled)
  Index lines = 1;       // characters above each other for one pixel

  /// True where a pixel is a sign, on a field of characters.
  bool signs() const { return characters > 1; }
};
PixelShape pixel_shape(Style style);
/// With pixels as large as the options say.
PixelShape pixel_shape(const DrawOptions& options);

/// Draws only the cells, without rulers.
Canvas draw_cells(const InkGrid& grid, const DrawOptions& options);

}  // namespace maskctl
