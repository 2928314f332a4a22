#include "maskctl/io/formats/png/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>

#include "maskctl/base/error.h"

namespace maskctl {
namespace {

constexpr Index kMaxSide = 65535;
constexpr std::size_t kMaxColors = 256;

void check(const PngImage& image) {
  if (image.width < 1 || image.height < 1 || image.width > kMaxSide || image.height > kMaxSide) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a PNG of {} x {} pixels: expected 1 to {} on each side", image.width,
                            image.height, kMaxSide));
  }
  if (image.palette.empty() || image.palette.size() > kMaxColors) {
    throw Error(Errc::kInvalidArgument, fmt::format("a PNG of {} colours: expected 1 to {}",
                                                    image.palette.size(), kMaxColors));
  }
  if (std::ssize(image.pixels) != image.width * image.height) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} bytes for a PNG of {} x {} pixels: expected one each",
                            image.pixels.size(), image.width, image.height));
  }
  const auto most = *std::max_element(image.pixels.begin(), image.pixels.end());
  if (most >= image.palette.size()) {
    throw Error(Errc::kInvalidArgument, fmt::format("a pixel of colour {}: the palette has {}",
                                                    most, image.palette.size()));
  }
}

}  // namespace

std::vector<std::byte> png_bytes(const PngImage& image) {
  check(image);
  // libpng's simplified API returns errors as values; the full API would longjmp out of C++
  // functions.
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB_COLORMAP;
  header.colormap_entries = static_cast<png_uint_32>(image.palette.size());
  std::vector<std::byte> out(PNG_IMAGE_PNG_SIZE_MAX(header));
  png_alloc_size_t size = out.size();
  const int stride = static_cast<int>(image.width);
  if (png_image_write_to_memory(&header, out.data(), &size, 0, image.pixels.data(), stride,
                                image.palette.data()) == 0) {
    throw Error(Errc::kIo, fmt::format("cannot make a PNG: {}", header.message));
  }
  out.resize(size);
  return out;
}

}  // namespace maskctl
