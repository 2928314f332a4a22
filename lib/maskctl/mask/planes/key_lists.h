// A plane of lists of keys as arrays have them: half the memory of their runs, if few keys touch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

class BandsPlane;

/// What answers most questions about a list of keys without reading it.
struct ListOutline {
  std::int32_t size = 0, runs = 0;  // entries, and runs of neighbouring ones
  std::int32_t first = 0, last = 0;
};
/// The outline of entries that ascend.
ListOutline outline_of(std::span<const std::int32_t> ascending);

/// Lists of one width, one after another, each ascending and then -1: the blocks of `block.k` keys
/// that `block.q` queries see.
struct ListedKeys {
  std::span<const std::int32_t> entries;
  Index width = 0;
  BlockSize block{1, 1};
  std::vector<ListOutline> outlines;  // of each list
  std::shared_ptr<const void> owner;  // of the entries

  std::span<const std::int32_t> list(Index number) const {
    return entries.subspan(as_size(number * width), as_size(outlines[as_size(number)].size));
  }
};

/// Appends the runs of a list, without keys from `keys` on.
void append_runs(std::span<const std::int32_t> list, Index block, Index keys,
                 std::vector<Run>& runs);

/// Tier 1: for each row a list of keys, clipped to a range.
class KeyLists final : public Plane {
 public:
  /// Row q sees list first_list + q / block.q, clipped to clips[q] unless there are none.
  KeyLists(Index queries, Index keys, std::shared_ptr<const ListedKeys> lists, Index first_list = 0,
           std::vector<Run> clips = {});

  void rows(Range q, const RowSink& sink) const override;
  Index count(Range q, Range k) const override;
  void row_sizes(Range q, const SizeSink& sink) const override;
  void mark_seen(Range q, std::span<std::uint64_t> words) const override;
  bool has_row_index() const override { return true; }
  PlanePtr sliced(Range q, Range k) const override;
  Index bytes() const override;

  /// This plane with row q intersected with row q of `limits`, whose rows have at most one run
  /// each.
  PlanePtr clipped(const BandsPlane& limits) const;

 private:
  Run clip(Index row) const;
  Index number(Index row) const {
    const Index size = lists_->block.q;
    return first_list_ + (size == 1 ? row : row / size);  // a division takes longer than the rest
  }
  /// Whether a range of keys has none of a list, all of it, or a part.
  Fill overlap(Range keys, const ListOutline& list) const;
  /// The part of a list that overlaps a range of keys.
  std::span<const std::int32_t> part(Index list, Range keys) const;
  Index keys_in(Index row, Range k) const;
  /// The end of the rows that equal this one.
  Index equal_end(Index row, Index end) const;

  std::shared_ptr<const ListedKeys> lists_;
  Index first_list_;
  std::vector<Run> clips_;
};

}  // namespace maskctl
