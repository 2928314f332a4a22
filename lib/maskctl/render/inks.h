// The colours of a picture, and what its legend says about them.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/picture.h"

namespace maskctl {

/// What the cells of a picture can be.
enum class InkSet : std::uint8_t { kMask, kOverlay, kTiles };

/// Numbers of the colours of each set. A block of cells with neither none nor all open has one of
/// the numbers between: no cell is ever rounded away.
namespace ink {
inline constexpr std::uint8_t kNone = 0;
inline constexpr std::uint8_t kMaskAll = 6;  // 1 .. 5: few to most
inline constexpr std::uint8_t kBothSome = 1, kBothAll = 2, kASome = 3, kAAll = 4, kBSome = 5,
                              kBAll = 6, kDiffer = 7;
inline constexpr std::uint8_t kPartial = 1, kFull = 2;
}  // namespace ink

InkSet ink_set(const PictureInput& input);
std::vector<Rgb> ink_colors(InkSet set, Palette palette);

/// A mask's ink for `open` of `area` cells.
std::uint8_t density_ink(Index open, Index area);
/// Any cell open in one mask only decides; a block where both masks have cells of their own is
/// kDiffer.
std::uint8_t overlay_ink(Index both, Index only_a, Index only_b, Index area);

struct LegendEntry {
  std::vector<std::uint8_t> inks;  // swatches beside each other
  std::string text;
};
/// `blocks`: a unit of the drawing stands for several cells or tiles.
std::vector<LegendEntry> legend_entries(InkSet set, bool blocks);

/// Okabe-Ito cycle of segment ids, and signs for padding and for a unit of several segments.
std::vector<Rgb> segment_colors();
inline constexpr std::size_t kPaddingColor = 8, kMixedColor = 9;  // after the cycle of 8
/// True where black text is easier to read on it than white.
bool is_light(Rgb color);

}  // namespace maskctl
