#include "maskctl/mask/planes/tile_counts.h"

#include <algorithm>

#include "maskctl/base/threads.h"
#include "maskctl/mask/block_size.h"

namespace maskctl {
namespace {

constexpr Index kLeastBlock = 64, kMostBlocksAcross = 1024;

Index block_for(Index extent) {
  Index block = kLeastBlock;
  while (ceil_div(extent, block) > kMostBlocksAcross) block *= 2;
  return block;
}

class TileCounted final : public Plane {
 public:
  explicit TileCounted(const PlanePtr& plane)
      : Plane(plane->queries(), plane->keys()),
        plane_(plane),
        block_{block_for(queries()), block_for(keys())},
        width_(ceil_div(keys(), block_.k) + 1),
        below_(as_size((ceil_div(queries(), block_.q) + 1) * width_)) {
    fill();
  }

  void rows(Range q, const RowSink& sink) const override { plane_->rows(q, sink); }

  Index count(Range q, Range k) const override {
    if (q.empty() || k.empty()) return 0;
    const bool known = is_border(q, block_.q, queries()) && is_border(k, block_.k, keys());
    return known ? sum(q, k) : plane_->count(q, k);
  }

  void counts(Range q, std::span<const Index> edges, std::span<Index> out) const override {
    const auto is_known = [&](Index edge) { return is_border(edge, block_.k, keys()); };
    const bool known = is_border(q, block_.q, queries()) && std::ranges::all_of(edges, is_known);
    if (!known) return plane_->counts(q, edges, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += sum(q, {edges[i], edges[i + 1]});
  }

  Fill classify(Range q, Range k) const override { return plane_->classify(q, k); }
  void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const override {
    plane_->tiles(q, key_tile, out);
  }
  void row_sizes(Range q, const SizeSink& sink) const override { plane_->row_sizes(q, sink); }
  void mark_seen(Range q, std::span<std::uint64_t> words) const override {
    plane_->mark_seen(q, words);
  }
  bool has_row_index() const override { return plane_->has_row_index(); }
  PlanePtr transposed() const override { return plane_->transposed(); }
  PlanePtr sliced(Range q, Range k) const override { return plane_->sliced(q, k); }
  bool computed() const override { return plane_->computed(); }
  Index bytes() const override {
    return plane_->bytes() + static_cast<Index>(below_.size() * sizeof(Index));
  }

 private:
  static bool is_border(Index at, Index block, Index extent) {
    return at % block == 0 || at == extent;
  }
  static bool is_border(Range range, Index block, Index extent) {
    return is_border(range.begin, block, extent) && is_border(range.end, block, extent);
  }

  /// The number of open cells above and to the left of a corner of blocks.
  Index& below(Index row, Index column) { return below_[as_size(row * width_ + column)]; }
  Index below(Index row, Index column) const { return below_[as_size(row * width_ + column)]; }

  Index sum(Range q, Range k) const {
    const Index top = ceil_div(q.begin, block_.q), bottom = ceil_div(q.end, block_.q);
    const Index left = ceil_div(k.begin, block_.k), right = ceil_div(k.end, block_.k);
    return below(bottom, right) - below(top, right) - below(bottom, left) + below(top, left);
  }

  void fill() {
    std::vector<Index> edges;
    for (Index column = 0; column < width_; ++column) {
      edges.push_back(std::min(column * block_.k, keys()));
    }
    parallel_for(ceil_div(queries(), block_.q), [&](Index row) {
      const Range q{row * block_.q, std::min((row + 1) * block_.q, queries())};
      plane_->counts(q, edges, std::span(&below(row + 1, 1), as_size(width_ - 1)));
    });
    for (Index row = 1; row * width_ < std::ssize(below_); ++row) {
      Index before = 0;
      for (Index column = 1; column < width_; ++column) {
        before += below(row, column);
        below(row, column) = before + below(row - 1, column);
      }
    }
  }

  PlanePtr plane_;
  BlockSize block_;
  Index width_;  // corners per row: number of blocks + 1
  std::vector<Index> below_;
};

}  // namespace

PlanePtr with_tile_counts(const PlanePtr& plane) {
  if (plane->queries() == 0 || plane->keys() == 0) return plane;
  return std::make_shared<TileCounted>(plane);
}

}  // namespace maskctl
