// Selects rows of a plane by ranges, for ranks whose queries are not contiguous.
#include <algorithm>

#include "maskctl/mask/mask.h"

namespace maskctl {
namespace {

class PickedRows final : public Plane {
 public:
  PickedRows(PlanePtr base, std::span<const Range> ranges, Index rows)
      : Plane(rows, base->keys()), base_(std::move(base)), ranges_(ranges.begin(), ranges.end()) {
    Index end = 0;
    for (const Range& range : ranges_) ends_.push_back(end += range.size());
  }

  void rows(Range q, const RowSink& sink) const override {
    each_range(q, [&](Range from, Index shift) {
      base_->rows(from, [&](Range r, const Keys& keys) {
        sink({r.begin + shift, r.end + shift}, keys);
      });
    });
  }
  Index count(Range q, Range k) const override {
    Index sum = 0;
    each_range(q, [&](Range from, Index) { sum += base_->count(from, k); });
    return sum;
  }
  void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const override {
    const std::size_t range = range_at(q.begin);
    if (q.empty() || q.end > ends_[range]) return Plane::tiles(q, key_tile, out);
    const Index shift = first_row(range) - ranges_[range].begin;
    base_->tiles({q.begin - shift, q.end - shift}, key_tile, out);
  }
  void counts(Range q, std::span<const Index> edges, std::span<Index> out) const override {
    each_range(q, [&](Range from, Index) { base_->counts(from, edges, out); });
  }
  bool computed() const override { return base_->computed(); }
  Index bytes() const override { return base_->bytes(); }

 private:
  std::size_t range_at(Index row) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, row) - ends_.begin());
  }
  Index first_row(std::size_t range) const { return ends_[range] - ranges_[range].size(); }

  /// Calls f(rows of base_, shift) for each part of the rows q that comes from one range; row r of
  /// base_ is row r + shift of this plane.
  template <class F>
  void each_range(Range q, F&& f) const {
    for (std::size_t i = range_at(q.begin); i < ranges_.size() && first_row(i) < q.end; ++i) {
      const Index shift = first_row(i) - ranges_[i].begin;
      f(intersect({q.begin - shift, q.end - shift}, ranges_[i]), shift);
    }
  }

  PlanePtr base_;
  std::vector<Range> ranges_;
  std::vector<Index> ends_;  // end of each range, as a row of this plane
};

}  // namespace

Mask rows_of(const Mask& mask, std::span<const Range> ranges) {
  if (ranges.size() == 1) {
    return sliced(mask, {0, mask.batch()}, {0, mask.heads()}, ranges[0], {0, mask.keys()});
  }
  Index rows = 0;
  for (const Range& range : ranges) rows += range.size();
  return mask.map([&](const PlanePtr& plane) -> PlanePtr {
    return std::make_shared<PickedRows>(plane, ranges, rows);
  });
}

}  // namespace maskctl
