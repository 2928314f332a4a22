// A figure drawn in characters: title, captions, rulers, segment ids, cells, legend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "maskctl/render/figure/ink_grid.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl {

/// What a character shows. A pixel stands for q_step x k_step elements.
///   kAuto      kHalf with one pixel per element if that fits, else kShade
///   kShade     one pixel on two characters (square), density by " ░▒▓█"
///   kAscii     like kShade, by " .:+#"; every character of the drawing is ASCII
///   kHalf      two pixels above each other (square): blank ▀ ▄ █
///   kQuadrant  2 x 2 pixels, half as wide as high
///   kBraille   4 x 2 pixels (rows x columns), square
enum class Style : std::uint8_t { kAuto, kShade, kHalf, kBraille, kQuadrant, kAscii };

/// Which pixels of kHalf, kQuadrant and kBraille are on: those with any open element, those with
/// all elements open, or those with more than half of them open.
enum class Agg : std::uint8_t { kAny, kAll, kMajority };

/// The block size that gives each element a pixel of its own.
inline constexpr BlockSize kOneElement{1, 1};

struct DrawOptions {
  Style style = Style::kAuto;
  /// The most rows (columns) of the whole drawing, including rulers and legend; 0: no limit.
  Index max_rows = 0;
  Index max_columns = 0;
  /// Elements per pixel. If not set: the smallest powers of two that fit, equal on both axes unless
  /// the shorter axis would get too few pixels. Without limits it is 1 x 1.
  std::optional<BlockSize> block;
  Agg agg = Agg::kAny;
  bool color = false;  // whether to use colours; the glyphs are meaningful without them
  Palette palette = Palette::kCividis;
  bool grid = false;   // whether to draw dots where nothing is open; not for overlays
  bool border = true;  // whether to draw a box and ticks around the cells
  /// For kShade and kAscii: how many lines a pixel takes; it takes twice as many columns.
  Index pixel_lines = 1;
  bool title = true;  // whether to draw the title of the figure and the captions of its panels
};

/// The whole drawing; its last line (or lines, if the width is small) is the legend. Panels are
/// placed next to each other as far as there are columns, and then in further lines; max_rows
/// limits each panel, not all of them together. A leak is `!`, whatever else its block contains, on
/// red if there is colour; in coloured half blocks its pixel is red. The signs of an overlay show
/// what is open in both masks, only in A (-) or only in B (+); a pixel with both kinds of
/// differences is x. Overlays and tiles are drawn as kAscii or kShade. A run of equal ids shows its
/// id once in full, at its start; `*` means several ids, `-` padding. Labels need a line for each
/// query and two columns for each key; without room for that they are left out, and the legend says
/// so. A figure without queries or keys gives "(empty)". Throws what check_figure() throws, and
/// Error(kInvalidArgument) for a limit too small for any drawing and for a block that does not fit
/// into the limits.
Canvas draw(const Figure& figure, const DrawOptions& options);
/// The result of draw() as text, with colour sequences if options.color.
std::string draw_text(const Figure& figure, const DrawOptions& options);

/// How pixels and characters of a style correspond (kAuto: as kHalf).
struct PixelShape {
  Index rows = 1;        // pixels above each other in one character
  Index columns = 1;     // pixels next to each other in one character
  Index characters = 1;  // characters next to each other for one pixel (2 if doubled)
  Index lines = 1;       // lines that one pixel takes

  /// Whether a pixel is shown as one sign, repeated over several characters.
  bool signs() const { return characters > 1; }
};
PixelShape pixel_shape(Style style);
/// The shape of a pixel for the style and the pixel_lines of the options.
PixelShape pixel_shape(const DrawOptions& options);

/// Draws only the cells, without rulers.
Canvas draw_cells(const InkGrid& grid, const DrawOptions& options);

}  // namespace maskctl
