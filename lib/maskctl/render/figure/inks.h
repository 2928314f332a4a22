// The inks of a drawing: what a cell can be, its colour and its sign, and the words of the legend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "maskctl/render/figure/figure.h"

namespace maskctl {

enum class Palette : std::uint8_t { kCividis, kViridis, kGrey };

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

enum class InkSet : std::uint8_t { kMask, kOverlay, kTiles };
InkSet ink_set(const Panel& panel);

/// How an ink looks: its colour in pictures and terminals, and its character in drawings without
/// colour.
struct Ink {
  Rgb color;
  char32_t shade = U' ';
  char ascii = ' ';
};

/// The numbers of the inks. A block in which some cells are open and some are closed has one of the
/// inks in between: no cell is ever rounded away. A single marked cell gives its whole block the
/// ink of the mark.
namespace ink {
inline constexpr std::uint8_t kNone = 0;
// Inks of masks: kNone; 1 to 6 for the share of open cells, in six steps; kAll; kLeak. Tiles have
// only kNone, kPartial, kAll and kLeak.
inline constexpr std::uint8_t kPartial = 3, kAll = 7;
inline constexpr std::uint8_t kLeak = 8;
// Inks of two masks, A and B, that are overlaid.
inline constexpr std::uint8_t kBothSome = 1, kBothAll = 2, kOnlyA = 3, kOnlyB = 4, kDiffer = 5;
}  // namespace ink

/// The inks of a set, indexed by number. Overlays have fixed colours, whatever the palette.
const std::vector<Ink>& inks(InkSet set, Palette palette);
/// Whether an ink is that of a leak or a difference, which must not be overlooked.
bool is_mark(InkSet set, std::uint8_t number);

/// The ink of a block of a mask in which `open` of `area` cells are open.
std::uint8_t density_ink(Index open, Index area);
/// The ink of a block of an overlay, from its numbers of open cells. One cell that is open in only
/// one of the masks is enough to show; if both masks have such cells, the ink is kDiffer.
std::uint8_t overlay_ink(Index both, Index only_a, Index only_b, Index area);

struct LegendEntry {
  std::vector<std::uint8_t> inks;  // inks whose colours are shown next to each other
  std::string text;
};
/// Returns the entries of a legend. `blocks`: whether a unit of the drawing is several cells or
/// tiles. `leaks`: whether leaks are marked.
std::vector<LegendEntry> legend_entries(InkSet set, bool blocks, bool leaks);

/// The colours of segments, then that of padding, and that of a unit with several segments.
const std::vector<Rgb>& segment_colors();
inline constexpr std::size_t kSegmentColors = 16;
inline constexpr std::size_t kPaddingColor = kSegmentColors, kMixedColor = kSegmentColors + 1;

/// The luminance as WCAG defines it, from 0 (black) to 1 (white). Colours of different luminance
/// look different to everybody, including people who are colour-blind.
double luminance(Rgb color);
/// Whether black text is easier to read on this colour than white text.
bool is_light(Rgb color);
/// The number of the nearest xterm-256 colour among 16 .. 255, which every terminal shows alike.
std::int16_t terminal_color(Rgb color);
/// The colour with this xterm-256 number. Terminals may show the first 16 differently.
Rgb terminal_rgb(std::int16_t number);

}  // namespace maskctl
