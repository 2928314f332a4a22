#include "app/tui/screens/colors.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "maskctl/render/figure/inks.h"

namespace maskctl::app::tui {
namespace {

constexpr std::int16_t kBlack = 0, kBlue = 4, kPaper = 7;
/// A colour whose largest and smallest components differ by less than this is drawn as grey.
constexpr int kLeastChroma = 90;

int distance(Rgb a, Rgb b) {
  return std::abs(a.r - b.r) + std::abs(a.g - b.g) + std::abs(a.b - b.b);
}

/// The terminal colour closest to this one: 1 to 6 are red, green, yellow, blue, magenta and cyan;
/// 0 for greys.
std::int16_t hue_of(Rgb color) {
  const auto [least, most] = std::minmax({color.r, color.g, color.b});
  if (most - least < kLeastChroma) return 0;
  static constexpr std::array<std::int16_t, 6> kHues = {1, 2, 3, 4, 5, 6};
  return *std::ranges::min_element(
      kHues, {}, [&](std::int16_t hue) { return distance(terminal_rgb(hue), color); });
}

std::int16_t ink_of(std::int16_t number) {
  const std::int16_t hue = number == kNoColor ? std::int16_t{0} : hue_of(terminal_rgb(number));
  return hue == 0 ? kNoColor : hue;
}

std::int16_t paper_of(std::int16_t number) {
  if (number == kNoColor) return kNoColor;
  if (number == kCrosshair) return kBlue;
  const Rgb color = terminal_rgb(number);
  const std::int16_t hue = hue_of(color);
  return hue != 0 ? hue : is_light(color) ? kPaper : kBlack;
}

}  // namespace

void to_eight_colors(Canvas& canvas) {
  for (Index row = 0; row < canvas.rows(); ++row) {
    for (Index column = 0; column < canvas.columns(); ++column) {
      Glyph glyph = canvas.at(row, column);
      glyph.fg = glyph.fg == kWhite ? kPaper : ink_of(glyph.fg);
      glyph.bg = paper_of(glyph.bg);
      canvas.put(row, column, glyph);
    }
  }
}

}  // namespace maskctl::app::tui
