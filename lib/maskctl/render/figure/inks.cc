#include "maskctl/render/figure/inks.h"

#include <algorithm>

namespace maskctl {
namespace {

/// The colours next to none and all are left out of each scale, so that both ends are distinct.
const std::vector<Rgb>& density_colors(Palette palette) {
  static const std::vector<Rgb> kCividis = {{0, 32, 77},     {112, 113, 115}, {128, 125, 119},
                                            {145, 141, 120}, {166, 157, 117}, {196, 181, 108},
                                            {255, 234, 70}};
  static const std::vector<Rgb> kViridis = {{68, 1, 84},    {62, 74, 137},  {49, 104, 142},
                                            {38, 130, 142}, {31, 158, 137}, {80, 190, 110},
                                            {253, 231, 37}};
  static const std::vector<Rgb> kGrey = {{20, 20, 20},    {80, 80, 80},    {110, 110, 110},
                                         {140, 140, 140}, {170, 170, 170}, {200, 200, 200},
                                         {255, 255, 255}};
  if (palette == Palette::kViridis) return kViridis;
  return palette == Palette::kGrey ? kGrey : kCividis;
}

}  // namespace

InkSet ink_set(const PictureInput& input) {
  if (input.tiles != nullptr) return InkSet::kTiles;
  return input.other ? InkSet::kOverlay : InkSet::kMask;
}

std::vector<Rgb> ink_colors(InkSet set, Palette palette) {
  switch (set) {
    case InkSet::kMask:
      return density_colors(palette);
    case InkSet::kOverlay:  // grey, orange, blue; purple
      return {{245, 245, 245}, {190, 190, 190}, {112, 112, 112}, {235, 140, 60},
              {213, 94, 0},    {70, 155, 215},  {0, 114, 178},   {150, 50, 140}};
    case InkSet::kTiles:
      break;
  }
  const std::vector<Rgb>& scale = density_colors(palette);
  return {scale.front(), scale[3], scale.back()};
}

std::uint8_t density_ink(Index open, Index area) {
  if (open == 0) return ink::kNone;
  if (open == area) return ink::kMaskAll;
  const double share = static_cast<double>(open) / static_cast<double>(area);
  const int steps = ink::kMaskAll - 1;
  return static_cast<std::uint8_t>(1 + std::min(static_cast<int>(share * steps), steps - 1));
}

std::uint8_t overlay_ink(Index both, Index only_a, Index only_b, Index area) {
  if (only_a > 0 && only_b > 0) return ink::kDiffer;
  if (only_a > 0) return only_a == area ? ink::kAAll : ink::kASome;
  if (only_b > 0) return only_b == area ? ink::kBAll : ink::kBSome;
  if (both == 0) return ink::kNone;
  return both == area ? ink::kBothAll : ink::kBothSome;
}

std::vector<LegendEntry> legend_entries(InkSet set, bool blocks) {
  if (set == InkSet::kTiles) {
    return {{{ink::kNone}, "empty"}, {{ink::kPartial}, "partial"}, {{ink::kFull}, "full"}};
  }
  if (set == InkSet::kMask) {
    if (!blocks) return {{{ink::kNone}, "closed"}, {{ink::kMaskAll}, "open"}};
    return {{{ink::kNone}, "none open"},
            {{1, 2, 3, 4, 5}, "few to most"},
            {{ink::kMaskAll}, "all open"}};
  }
  if (!blocks) {
    return {{{ink::kNone}, "neither"},
            {{ink::kBothAll}, "both"},
            {{ink::kAAll}, "only A"},
            {{ink::kBAll}, "only B"}};
  }
  return {{{ink::kNone}, "neither"},
          {{ink::kBothSome, ink::kBothAll}, "both (some, all cells)"},
          {{ink::kASome, ink::kAAll}, "only A (some, all)"},
          {{ink::kBSome, ink::kBAll}, "only B (some, all)"},
          {{ink::kDiffer}, "cells of only A and of only B"}};
}

std::vector<Rgb> segment_colors() {
  return {{230, 159, 0}, {86, 180, 233},  {0, 158, 115},   {240, 228, 66},  {0, 114, 178},
          {213, 94, 0},  {204, 121, 167}, {153, 153, 153}, {235, 235, 235}, {64, 64, 64}};
}

bool is_light(Rgb color) { return 299 * color.r + 587 * color.g + 114 * color.b > 128 * 1000; }

}  // namespace maskctl
