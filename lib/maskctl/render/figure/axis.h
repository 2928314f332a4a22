// The numbers and the segments along one axis of a panel.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

/// The distance in cells between the at most `most` numbers of an axis: a power of two times `unit`
/// if the extent is short or a multiple of a large power of two, or if numbers can only stand at
/// multiples of a unit; else 1, 2 or 5 times a power of ten.
Index tick_step(Index extent, Index most, Index unit = 1);

/// What the units of a band hold: tokens of one segment, padding, or both or several of these.
enum class SegmentKind : std::uint8_t { kId, kPadding, kMixed };

/// Neighbouring units of an axis that hold the same.
struct AxisBand {
  Range units;
  Range cells;
  SegmentKind kind = SegmentKind::kId;
  std::int32_t id = 0;    // kId only
  std::size_t color = 0;  // index into segment_colors()

  bool same_segment(const AxisBand& other) const { return kind == other.kind && id == other.id; }
};

/// The bands of both axes; empty without ids.
struct AxisBands {
  std::vector<AxisBand> q, k;
};
/// For units of q_step queries and k_step keys of the drawn part. A segment has one colour on both
/// axes, neighbours have different ones, and 16 segments in order of appearance are all different.
AxisBands axis_bands(const Figure& figure, const Panel& panel, Index q_step, Index k_step);

/// "3", "-" for padding, "*" for several.
std::string band_text(const AxisBand& band);
/// "segment 3, cells 0 to 511".
std::string band_title(const AxisBand& band);

}  // namespace maskctl
