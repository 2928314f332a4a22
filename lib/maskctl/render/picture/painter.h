// Draws rectangles and text into a raster.
#pragma once

#include <string_view>
#include <utility>

#include "maskctl/render/picture/bitmap_font.h"
#include "maskctl/render/picture/raster.h"

namespace maskctl {

inline constexpr Index kDot = 2;  // side of a font dot in pixels
inline constexpr Index kCharWidth = kFontAdvance * kDot, kTextHeight = kFontHeight * kDot;
inline constexpr Rgb kFrameColor = {120, 120, 120};

/// Colours that follow those of the cells.
enum ExtraColor : std::uint8_t { kBackground, kText, kWhite, kFrame, kExtras };

/// The width in pixels of a text of ASCII characters.
inline Index text_width(std::string_view text) {
  return static_cast<Index>(text.size()) * kCharWidth;
}

/// Draws with indices into a palette: the colours of the cells, then segment_colors(), then
/// ExtraColor. Whatever lies outside the raster is cut off.
class Painter {
 public:
  Painter(Index width, Index height, const std::vector<Rgb>& cell_colors);

  std::uint8_t extra(ExtraColor number) const {
    return static_cast<std::uint8_t>(extras_ + number);
  }
  std::uint8_t segment(std::size_t number) const {
    return static_cast<std::uint8_t>(segments_ + number);
  }
  /// Black or white, whichever is readable on `color`.
  std::uint8_t text_on(std::uint8_t color) const {
    return extra(is_light(raster_.palette[color]) ? kText : kWhite);
  }

  void fill(Index x, Index y, Index width, Index height, std::uint8_t color);
  void frame(Index x, Index y, Index width, Index height, std::uint8_t color);
  /// Draws text with its upper left corner at x, y; rising text reads upwards from its lower left
  /// corner.
  void text(Index x, Index y, std::string_view text, std::uint8_t color, bool rising = false);
  /// Copies all of `cells`, which must lie inside; the palette must begin with the colours of
  /// `cells`.
  void paste(Index x, Index y, const Raster& cells);

  Raster take() { return std::move(raster_); }

 private:
  Raster raster_;
  std::size_t segments_, extras_;
};

}  // namespace maskctl
