#include "maskctl/render/figure/inks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace maskctl {
namespace {

// This red differs enough in luminance from every ink of a mask: kNone is darker, all other inks
// are lighter (tests/render/inks_test.cc).
constexpr Rgb kRed = {214, 0, 30};

/// The colours of the inks kNone, 1 to 6 (few to most cells open) and kAll. Colours with a
/// luminance near that of kRed are left out.
constexpr std::array<Rgb, 8> kCividis = {{{0, 32, 77},
                                          {148, 143, 120},
                                          {160, 152, 118},
                                          {172, 162, 115},
                                          {184, 172, 111},
                                          {197, 182, 106},
                                          {211, 194, 98},
                                          {255, 234, 70}}};
constexpr std::array<Rgb, 8> kViridis = {{{68, 1, 84},
                                          {31, 158, 137},
                                          {40, 174, 128},
                                          {53, 183, 121},
                                          {74, 193, 109},
                                          {109, 205, 89},
                                          {149, 215, 63},
                                          {253, 231, 37}}};
constexpr std::array<Rgb, 8> kGrey = {{{20, 20, 20},
                                       {148, 148, 148},
                                       {160, 160, 160},
                                       {172, 172, 172},
                                       {184, 184, 184},
                                       {196, 196, 196},
                                       {208, 208, 208},
                                       {255, 255, 255}}};

std::vector<Ink> mask_inks(const std::array<Rgb, 8>& colors) {
  std::vector<Ink> out;
  for (std::size_t i = 0; i < colors.size(); ++i) {
    out.push_back({colors[i], U" ░░▒▒▓▓█"[i], " ..::++#"[i]});
  }
  out.push_back({kRed, U'!', '!'});
  return out;
}

}  // namespace

InkSet ink_set(const Panel& panel) {
  if (tile_size_of(panel)) return InkSet::kTiles;
  return panel.other ? InkSet::kOverlay : InkSet::kMask;
}

const std::vector<Ink>& inks(InkSet set, Palette palette) {
  static const std::vector<Ink> kOverlay = {
      {{245, 245, 245}, U' ', ' '}, {{205, 205, 205}, U'░', '.'},
      {{165, 165, 165}, U'█', '#'}, {kRed, U'-', '-'},
      {{0, 84, 200}, U'+', '+'},    {{112, 0, 130}, U'x', 'x'}};
  static const std::vector<Ink> kMasks[] = {mask_inks(kCividis), mask_inks(kViridis),
                                            mask_inks(kGrey)};
  return set == InkSet::kOverlay ? kOverlay : kMasks[static_cast<std::size_t>(palette)];
}

bool is_mark(InkSet set, std::uint8_t number) {
  return set == InkSet::kOverlay ? number >= ink::kOnlyA : number == ink::kLeak;
}

std::uint8_t density_ink(Index open, Index area) {
  if (open == 0) return ink::kNone;
  if (open == area) return ink::kAll;
  const Index closed = area - open;  // areas reach 2^62, so 3 * open could overflow
  const bool third = 2 * open >= closed, two_thirds = open >= 2 * closed;
  const double share = static_cast<double>(open) / static_cast<double>(area);
  // decided by integers, so it does not depend on how `share` is rounded
  const int least = two_thirds ? 5 : third ? 3 : 1;
  return static_cast<std::uint8_t>(std::clamp(1 + static_cast<int>(share * 6), least, least + 1));
}

std::uint8_t overlay_ink(Index both, Index only_a, Index only_b, Index area) {
  if (only_a > 0 && only_b > 0) return ink::kDiffer;
  if (only_a > 0) return ink::kOnlyA;
  if (only_b > 0) return ink::kOnlyB;
  if (both == 0) return ink::kNone;
  return both == area ? ink::kBothAll : ink::kBothSome;
}

std::vector<LegendEntry> legend_entries(InkSet set, bool blocks, bool leaks) {
  std::vector<LegendEntry> out;
  if (set == InkSet::kOverlay) {
    out = {{{ink::kNone}, "neither"}};
    if (blocks) out.push_back({{ink::kBothSome}, "some"});
    out.push_back({{ink::kBothAll}, blocks ? "all of both" : "both"});
    out.push_back({{ink::kOnlyA}, blocks ? "some only A" : "only A"});
    out.push_back({{ink::kOnlyB}, blocks ? "some only B" : "only B"});
    if (blocks) out.push_back({{ink::kDiffer}, "each has its own"});
    return out;
  }
  if (set == InkSet::kTiles) {
    out = {{{ink::kNone}, "empty"}, {{ink::kPartial}, "partial"}, {{ink::kAll}, "full"}};
  } else if (!blocks) {
    out = {{{ink::kNone}, "closed"}, {{ink::kAll}, "open"}};
  } else {
    out = {{{ink::kNone}, "none"},
           {{1, 2}, "<1/3"},
           {{3, 4}, "<2/3"},
           {{5, 6}, "<all"},
           {{ink::kAll}, "all"}};
  }
  if (leaks) out.push_back({{ink::kLeak}, "leak"});
  return out;
}

const std::vector<Rgb>& segment_colors() {
  static const std::vector<Rgb> kColors = {
      // the first seven are the colours of Okabe and Ito
      {230, 159, 0},  {86, 180, 233},  {0, 158, 115},   {240, 228, 66}, {0, 114, 178},
      {213, 94, 0},   {204, 121, 167}, {153, 153, 153}, {106, 61, 154}, {178, 223, 138},
      {140, 86, 75},  {0, 206, 209},   {255, 190, 200}, {85, 107, 47},  {90, 100, 230},
      {160, 170, 20}, {235, 235, 235}, {64, 64, 64}};
  return kColors;
}

double luminance(Rgb color) {
  const auto linear = [](std::uint8_t value) {
    const double share = value / 255.0;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b);
}

// At luminance x, black and white have the same contrast by WCAG: (x + 0.05) / 0.05 = 1.05 / (x +
// 0.05), so x = 0.179.
bool is_light(Rgb color) { return luminance(color) > 0.179; }

Rgb terminal_rgb(std::int16_t number) {
  constexpr Rgb kBasic[] = {{0, 0, 0},       {205, 0, 0},   {0, 205, 0},   {205, 205, 0},
                            {0, 0, 238},     {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
                            {127, 127, 127}, {255, 0, 0},   {0, 255, 0},   {255, 255, 0},
                            {92, 92, 255},   {255, 0, 255}, {0, 255, 255}, {255, 255, 255}};
  if (number < 16) return kBasic[number];
  constexpr std::uint8_t kLevels[] = {0, 95, 135, 175, 215, 255};
  if (number >= 232) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (number - 232));
    return {grey, grey, grey};
  }
  const int cube = number - 16;
  return {kLevels[cube / 36], kLevels[cube / 6 % 6], kLevels[cube % 6]};
}

std::int16_t terminal_color(Rgb color) {
  const auto distance = [&](Rgb other) {
    const int r = color.r - other.r, g = color.g - other.g, b = color.b - other.b;
    return r * r + g * g + b * b;
  };
  std::int16_t best = 16;
  int least = distance(terminal_rgb(best));
  for (std::int16_t number = 17; number < 256; ++number) {
    const int d = distance(terminal_rgb(number));
    if (d >= least) continue;
    best = number;
    least = d;
  }
  return best;
}

}  // namespace maskctl
