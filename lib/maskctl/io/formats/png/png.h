// Writes images with a palette as PNG.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// An image: row-major, one byte per pixel, which is an index into the palette.
struct PngImage {
  Index width = 0, height = 0;
  std::span<const std::array<std::uint8_t, 3>> palette;  // red, green, blue (sRGB)
  std::span<const std::uint8_t> pixels;
};

/// Encodes an image with as few bits per pixel as the palette needs, at the default compression and
/// without date or text, so that equal images give equal bytes with the same zlib. Throws
/// Error(kInvalidArgument) for an image without pixels, more than 65535 pixels per side, a palette
/// of 0 or more than 256 colours, and pixels outside the palette.
std::vector<std::byte> png_bytes(const PngImage& image);

}  // namespace maskctl
