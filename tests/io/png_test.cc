// PNG files: libpng reads back the pixels that were written.
#include "maskctl/io/formats/png/png.h"

#include <png.h>

#include <random>

#include "maskctl/base/error.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using Palette = std::vector<std::array<std::uint8_t, 3>>;

Palette colors(std::size_t n) {
  Palette out(n);
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i * 7 % 256),
              static_cast<std::uint8_t>(255 - i)};
  }
  return out;
}

/// Decodes a PNG into red, green and blue of each pixel.
std::vector<std::uint8_t> decoded(const std::vector<std::byte>& png, Index width, Index height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, png.data(), png.size()) != 0);
  image.format = PNG_FORMAT_RGB;
  REQUIRE(image.width == width);
  REQUIRE(image.height == height);
  std::vector<std::uint8_t> out(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, out.data(), 0, nullptr) != 0);
  return out;
}

std::uint32_t big_endian(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

std::vector<std::string> chunk_names(const std::vector<std::byte>& png) {
  std::vector<std::string> names;
  for (std::size_t at = 8; at + 12 <= png.size(); at += 12 + big_endian(png, at)) {
    names.emplace_back(reinterpret_cast<const char*>(&png[at + 4]), 4);
  }
  return names;
}

}  // namespace

TEST_CASE("png: the pixels of palettes of every depth are read back", "[png]") {
  std::mt19937 random(2);
  for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 256u}) {
    for (const auto& [width, height] :
         {std::pair<Index, Index>{1, 1}, {7, 3}, {33, 65}, {1, 300}, {300, 1}}) {
      const Palette palette = colors(n);
      std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height));
      for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random() % n);
      const auto png = png_bytes({width, height, palette, pixels});
      const auto rgb = decoded(png, width, height);
      REQUIRE(rgb.size() == pixels.size() * 3);
      bool equal = true;
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        equal = equal && std::equal(palette[pixels[i]].begin(), palette[pixels[i]].end(),
                                    rgb.begin() + static_cast<std::ptrdiff_t>(i * 3));
      }
      CAPTURE(n, width, height);
      CHECK(equal);
    }
  }
}

TEST_CASE("png: files contain no date or text, and are always the same", "[png]") {
  const Palette palette = colors(3);
  const std::vector<std::uint8_t> pixels(10000, 2);
  const auto png = png_bytes({100, 100, palette, pixels});
  CHECK(png == png_bytes({100, 100, palette, pixels}));
  CHECK(png.size() < 400);
  const auto names = chunk_names(png);
  REQUIRE(names.size() >= 4);
  CHECK(names.front() == "IHDR");
  CHECK(names.back() == "IEND");
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK((name == "IHDR" || name == "PLTE" || name == "IDAT" || name == "IEND" || name == "sRGB" ||
           name == "gAMA" || name == "cHRM"));
  }
}

TEST_CASE("png: sizes that no image can have are refused", "[png]") {
  const Palette palette = colors(2);
  const std::vector<std::uint8_t> pixels(6, 1);
  CHECK_THROWS_AS(png_bytes({0, 6, palette, {}}), Error);
  CHECK_THROWS_AS(png_bytes({-2, -3, palette, pixels}), Error);
  CHECK_THROWS_AS(png_bytes({70000, 1, palette, pixels}), Error);
  CHECK_THROWS_AS(png_bytes({2, 2, palette, pixels}), Error);
  CHECK_THROWS_AS(png_bytes({2, 3, {}, pixels}), Error);
  CHECK_THROWS_AS(png_bytes({2, 3, colors(1), pixels}), Error);
  CHECK_THROWS_AS(png_bytes({2, 3, colors(257), pixels}), Error);
  CHECK_NOTHROW(png_bytes({2, 3, palette, pixels}));
}

}  // namespace maskctl
