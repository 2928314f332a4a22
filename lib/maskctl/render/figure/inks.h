// The colours of a picture, and their meaning in its legend.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// What the cells of a picture can be.
enum class InkSet : std::uint8_t { kMask, kOverlay, kTiles };

/// The colour indices of each set. A block of cells of which some but not all are open has one of
/// the indices in between: no cell is ever rounded away.
namespace ink {
inline constexpr std::uint8_t kNone = 0;
inline constexpr std::uint8_t kMaskAll = 6;  // 1 .. 5: few to most
inline constexpr std::uint8_t kBothSome = 1, kBothAll = 2, kASome = 3, kAAll = 4, kBSome = 5,
                              kBAll = 6, kDiffer = 7;
inline constexpr std::uint8_t kPartial = 1, kFull = 2;
}  // namespace ink

InkSet ink_set(const PictureInput& input);
std::vector<Rgb> ink_colors(InkSet set, Palette palette);

/// The ink of a mask for `open` of `area` cells.
std::uint8_t density_ink(Index open, Index area);
/// A single cell that is open in one mask only decides; a block in which both masks have such cells
/// is kDiffer.
std::uint8_t overlay_ink(Index both, Index only_a, Index only_b, Index area);

struct LegendEntry {
  std::vector<std::uint8_t> inks;  // swatches next to each other
  std::string text;
};
/// `blocks`: a unit of the drawing is several cells or tiles.
std::vector<LegendEntry> legend_entries(InkSet set, bool blocks);

/// The Okabe-Ito cycle for segment ids, then colours for padding and for a unit of several
/// segments.
std::vector<Rgb> segment_colors();
inline constexpr std::size_t kPaddingColor = 8, kMixedColor = 9;  // after the cycle of 8
/// True where black text is easier to read on it than white.
bool is_light(Rgb color);

}  // namespace maskctl
