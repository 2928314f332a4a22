// Pictures of a palette as PNG.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Row-major, one byte a pixel: a number of the palette.
struct PngImage {
  Index width = 0, height = 0;
  std::span<const std::array<std::uint8_t, 3>> palette;  // red, green, blue in sRGB
  std::span<const std::uint8_t> pixels;
};

/// A PNG with as few bits a pixel as the palette needs; no date, no text, default compression:
/// equal images give equal bytes with the same zlib.
/// Throws Error(kInvalidArgument) for no pixels, more than 65535 on a side, 0 or more than 256
/// colours, and pixels that the palette does not have.
std::vector<std::byte> png_bytes(const PngImage& image);

}  // namespace maskctl
