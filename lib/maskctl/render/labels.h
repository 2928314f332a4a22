// The words around a drawing: ticks, segment ids, title and legend.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/draw.h"

namespace maskctl {

/// The numbers of an axis stand at every `every`-th of its `units` (rows or columns of characters
/// or pairs): a power of two, at most eight numbers, each with `room` characters per unit.
Index tick_every(Index units, Index room, Index width);

/// "12.5%"; 0% and 100% are exact.
std::string percent_text(Index open, Index area);

/// What a span of characters of a ruler stands for.
enum class SegmentKind : std::uint8_t { kId, kPadding, kMixed };

struct SegmentLabel {
  SegmentKind kind = SegmentKind::kId;
  std::int32_t id = 0;  // kId only
  friend bool operator==(const SegmentLabel&, const SegmentLabel&) = default;
};

/// One label for each unit of `step` ids, of the ids in `range`.
std::vector<SegmentLabel> segment_labels(std::span<const std::int32_t> ids, Range range, Index step,
                                         std::int32_t pad_id);
std::string label_text(const SegmentLabel& label);
/// Whether `label`, on `room` characters, can be told apart from the label `next` right after it.
bool label_fits(const SegmentLabel& label, const SegmentLabel* next, Index room);
/// Characters of the longest id.
Index widest_id(std::span<const std::int32_t> ids, Range range, std::int32_t pad_id);

/// Words of the title and of the legend; a line may be broken between two of them.
std::vector<std::string> title_words(const Plane& plane, const DensityGrid& grid,
                                     const DrawOptions& options);
/// Which signs a drawing uses beyond those of its style.
struct UsedSigns {
  bool mixed = false, padding = false, too_long = false, highlight = false;
};
std::vector<std::string> legend_words(const DrawOptions& options, BlockSize block, UsedSigns used);

/// Words with `gap` blanks between them (one after , ; and :), broken into lines of at most `width`
/// characters; 0 = one line. A word longer than that stays whole.
std::vector<std::string> fill_lines(const std::vector<std::string>& words, Index gap, Index width);

}  // namespace maskctl
