// Pictures with a palette as PNG.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Row-major, one byte per pixel: an index into the palette.
struct PngImage {
  Index width = 0, height = 0;
  std::span<const std::array<std::uint8_t, 3>> palette;  // red, green, blue in sRGB
  std::span<const std::uint8_t> pixels;
};

/// Encodes with as few bits per pixel as the palette needs, no date, no text and default
/// compression: equal images give equal bytes with the same zlib. Throws Error(kInvalidArgument)
/// for no pixels, more than 65535 on a side, 0 or more than 256 colours, and pixels outside the
/// palette.
std::vector<std::byte> png_bytes(const PngImage& image);

}  // namespace maskctl
