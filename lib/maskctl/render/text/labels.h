// The words around a drawing: ticks, segment ids, title and legend.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/text/draw.h"

namespace maskctl {

/// An axis has a number at every `every`-th of its `units` (rows or columns of characters or
/// pairs): a power of two, such that there are at most eight numbers and each fits, with `room`
/// characters per unit.
Index tick_every(Index units, Index room, Index width);

/// "12.5%"; 0% and 100% are exact.
std::string percent_text(Index open, Index area);

/// What a stretch of characters on a ruler stands for.
enum class SegmentKind : std::uint8_t { kId, kPadding, kMixed };

struct SegmentLabel {
  SegmentKind kind = SegmentKind::kId;
  std::int32_t id = 0;  // kId only
  friend bool operator==(const SegmentLabel&, const SegmentLabel&) = default;
};

/// One label per unit of `step` ids, for the ids in `range`.
std::vector<SegmentLabel> segment_labels(std::span<const std::int32_t> ids, Range range, Index step,
                                         std::int32_t pad_id);
std::string label_text(const SegmentLabel& label);
/// Whether `label`, given `room` characters, can be distinguished from the label `next` right after
/// it.
bool label_fits(const SegmentLabel& label, const SegmentLabel* next, Index room);
/// The number of characters of the longest id.
Index widest_id(std::span<const std::int32_t> ids, Range range, std::int32_t pad_id);

/// The words of the title and of the legend; a line may break between any two of them.
std::vector<std::string> title_words(const Plane& plane, const DensityGrid& grid,
                                     const DrawOptions& options);
/// Which signs a drawing uses in addition to those of its style.
struct UsedSigns {
  bool mixed = false, padding = false, too_long = false, highlight = false;
};
std::vector<std::string> legend_words(const DrawOptions& options, BlockSize block, UsedSigns used);

/// Joins words with `gap` blanks between them (one after , ; and :) and breaks them into lines of
/// at most `width` characters; 0 = one line. A longer word stays whole.
std::vector<std::string> fill_lines(const std::vector<std::string>& words, Index gap, Index width);

}  // namespace maskctl
