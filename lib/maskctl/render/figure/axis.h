// The numbers and the segment ids along one axis of a panel.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

/// The distance in cells between the numbers of an axis, of which there are at most `most`. It is a
/// power of two times `unit` if the extent is short or a multiple of a large power of two, or if
/// numbers must be at multiples of a unit (unit > 1); otherwise it is 1, 2 or 5 times a power of
/// ten.
Index tick_step(Index extent, Index most, Index unit = 1);

/// What a range of cells on an axis contains: tokens of one segment, padding only, or several of
/// these.
enum class SegmentKind : std::uint8_t { kId, kPadding, kMixed };

/// Neighbouring units of an axis that have the same segment kind and id. A unit is one or more
/// cells.
struct AxisBand {
  Range units;
  Range cells;
  SegmentKind kind = SegmentKind::kId;
  std::int32_t id = 0;    // set for kId only
  std::size_t color = 0;  // index into segment_colors()

  bool same_segment(const AxisBand& other) const { return kind == other.kind && id == other.id; }
};

/// The bands of both axes; empty if there are no ids.
struct AxisBands {
  std::vector<AxisBand> q, k;
};
/// Returns the bands (neighbouring units of one segment) of the drawn part, with q_step queries or
/// k_step keys per unit. A segment has the same colour on both axes, neighbours have different
/// colours, and the first 16 segments in order of appearance all have different colours.
AxisBands axis_bands(const Figure& figure, const Panel& panel, Index q_step, Index k_step);

/// The text of a band: its id, such as "3", or "-" for padding, or "*" for several segments.
std::string band_text(const AxisBand& band);
/// A description of a band, such as "segment 3, cells 0 to 511".
std::string band_title(const AxisBand& band);

}  // namespace maskctl
