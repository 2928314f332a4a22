// Rectangles and text drawn into a raster.
#pragma once

#include <string_view>
#include <utility>

#include "maskctl/render/bitmap_font.h"
#include "maskctl/render/raster.h"

namespace maskctl {

inline constexpr Index kDot = 2;  // pixels of a dot of the font
inline constexpr Index kCharWidth = kFontAdvance * kDot, kTextHeight = kFontHeight * kDot;
inline constexpr Rgb kFrameColor = {120, 120, 120};

/// Colours after those of the cells.
enum ExtraColor : std::uint8_t { kBackground, kText, kWhite, kFrame, kExtras };

/// Pixels of a text of ASCII characters.
inline Index text_width(std::string_view text) {
  return static_cast<Index>(text.size()) * kCharWidth;
}

/// Draws with numbers of a palette: those of the cells, then segment_colors(), then ExtraColor.
/// What lies outside the raster is cut off.
class Painter {
 public:
  Painter(Index width, Index height, const std::vector<Rgb>& cell_colors);

  std::uint8_t extra(ExtraColor number) const {
    return static_cast<std::uint8_t>(extras_ + number);
  }
  std::uint8_t segment(std::size_t number) const {
    return static_cast<std::uint8_t>(segments_ + number);
  }
  /// Black or white, whichever can be read on `color`.
  std::uint8_t text_on(std::uint8_t color) const {
    return extra(is_light(raster_.palette[color]) ? kText : kWhite);
  }

  void fill(Index x, Index y, Index width, Index height, std::uint8_t color);
  void frame(Index x, Index y, Index width, Index height, std::uint8_t color);
  /// Upper left corner at x, y; rising texts read upwards from their lower left one.
  void text(Index x, Index y, std::string_view text, std::uint8_t color, bool rising = false);
  /// All of `cells`, which must lie inside; the palette must begin with theirs.
  void paste(Index x, Index y, const Raster& cells);

  Raster take() { return std::move(raster_); }

 private:
  Raster raster_;
  std::size_t segments_, extras_;
};

}  // namespace maskctl
