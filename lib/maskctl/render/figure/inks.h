// What the cells of a drawing can be: the colour and the sign of each, and the words of the legend.
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

/// How one ink looks: a colour in pictures and in terminals, a sign where there are none.
struct Ink {
  Rgb color;
  char32_t shade = U' ';
  char ascii = ' ';
};

/// The numbers of the inks. A block of cells of which some but not all are open has one of the
/// inks in between: no cell is ever rounded away. A mark decides its block, however large.
namespace ink {
inline constexpr std::uint8_t kNone = 0;
// Masks; tiles have kNone, kPartial, kAll and kLeak of these.
inline constexpr std::uint8_t kPartial = 3, kAll = 7;  // 1 .. 6: few to most
inline constexpr std::uint8_t kLeak = 8;
// Overlays.
inline constexpr std::uint8_t kBothSome = 1, kBothAll = 2, kOnlyA = 3, kOnlyB = 4, kDiffer = 5;
}  // namespace ink

/// The inks of a set, by number. Overlays have colours of their own.
const std::vector<Ink>& inks(InkSet set, Palette palette);
/// Leaks and differences: the inks that must not be overlooked.
bool is_mark(InkSet set, std::uint8_t number);

/// The ink of a mask for `open` of `area` cells.
std::uint8_t density_ink(Index open, Index area);
/// A single cell that is open in one mask only decides; a block in which both masks have such cells
/// is kDiffer.
std::uint8_t overlay_ink(Index both, Index only_a, Index only_b, Index area);

struct LegendEntry {
  std::vector<std::uint8_t> inks;  // next to each other
  std::string text;
};
/// `blocks`: a unit of the drawing is several cells or tiles. `leaks`: it has marks of leaks.
std::vector<LegendEntry> legend_entries(InkSet set, bool blocks, bool leaks);

/// The colours of segments, then those for padding and for a unit of several segments.
const std::vector<Rgb>& segment_colors();
inline constexpr std::size_t kSegmentColors = 16;
inline constexpr std::size_t kPaddingColor = kSegmentColors, kMixedColor = kSegmentColors + 1;

/// The luminance of WCAG, 0 black to 1 white. Colours of different luminance look different to
/// everybody, whatever colours they can tell apart.
double luminance(Rgb color);
/// True where black text is easier to read on it than white.
bool is_light(Rgb color);
/// The nearest of the xterm-256 colours that every terminal shows alike (16 .. 255).
std::int16_t terminal_color(Rgb color);
/// The colour of a number of xterm-256; terminals may show the first 16 otherwise.
Rgb terminal_rgb(std::int16_t number);

}  // namespace maskctl
