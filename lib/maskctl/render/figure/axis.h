// The labels along the axes of a picture and above it.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/figure/ink_grid.h"
#include "maskctl/render/text/labels.h"

namespace maskctl {

/// The distance between the numbers of an axis, in cells: a power of two if the extent is a
/// multiple of a large one, else 1, 2 or 5 times a power of ten; at most `most` numbers.
Index tick_step(Index extent, Index most);

/// Cells [begin, end) of an axis with one label.
struct AxisBand {
  Range cells;
  SegmentLabel label;
  friend bool operator==(const AxisBand&, const AxisBand&) = default;
};
/// Merges neighbouring units of `step` cells with equal labels.
std::vector<AxisBand> axis_bands(std::span<const std::int32_t> ids, Index step,
                                 std::int32_t pad_id);
/// The index of the band's colour in segment_colors().
std::size_t band_color(const SegmentLabel& label);

/// "segment 3, cells 0 to 511".
std::string band_title(const AxisBand& band);

/// The meaning of band colours that are not ids: padding, several segments.
struct BandLegend {
  std::size_t color = 0;  // index into segment_colors()
  std::string text;
};
std::vector<BandLegend> band_legend(const std::vector<AxisBand>& q, const std::vector<AxisBand>& k);

/// Breaks text into lines of at most `most` characters; a longer word keeps its end:
/// "...rest/of/it.npy".
std::vector<std::string> wrapped_text(const std::string& utf8, Index most);

/// For example "m.npy, batch 0, head 3", "A: a.npy, B: b.npy"; bytes of a name are kept unchanged.
/// Empty when nothing is known.
std::string picture_name(const PictureInput& input);
/// "9 queries x 9 keys, 45 open (55.6%)" and the like for overlays and tiles.
std::string picture_statistics(const PictureInput& input, const PictureCounts& counts);
/// "1 pixel = 4 x 4 cells", or empty if each cell (tile) is one unit. `unit`: "pixel", "square".
std::string unit_text(const InkGrid& grid, const char* unit);

}  // namespace maskctl
