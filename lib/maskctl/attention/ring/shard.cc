// Slices the whole mask and bias to the queries and keys of two ranks.
#include "maskctl/attention/ring/shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/softmax/checked.h"

namespace maskctl::attention {
namespace {

/// The slice of the bias for these queries and keys; axes of extent 1 stay whole.
ArrayPlace part_of_bias(const Tensor& bias, const std::vector<Range>& queries, Range keys) {
  const Range one{0, 1};
  return {{{0, bias.extent(0)}},
          {{0, bias.extent(1)}},
          bias.extent(2) == 1 ? std::vector{one} : queries,
          {bias.extent(3) == 1 ? one : keys}};
}

/// Marks in `seen` the key tiles in which the plane has an open cell.
void mark_tiles(const Plane& plane, std::vector<bool>& seen) {
  constexpr Index kRows = 512;
  std::vector<TileRun> runs;
  for (Index q = 0; q < plane.queries(); q += kRows) {
    runs.clear();
    plane.tiles({q, std::min(q + kRows, plane.queries())}, kKeyTile, runs);
    for (const TileRun& run : runs) {
      std::fill_n(seen.begin() + run.first, run.count, true);
    }
  }
}

std::vector<Range> runs_of(const std::vector<bool>& tiles, Index keys) {
  std::vector<Range> runs;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (!tiles[i]) continue;
    const Index first = static_cast<Index>(i) * kKeyTile, end = std::min(first + kKeyTile, keys);
    if (runs.empty() || runs.back().end != first) runs.push_back({first, first});
    runs.back().end = end;
  }
  return runs;
}

}  // namespace

MaskArguments ring_mask(const RingAttentionOptions& o) {
  MaskArguments mask = o.mask;
  if (mask.causal) mask.causal_block_size.reset();
  return mask;
}

SoftmaxOptions ring_softmax(const RingAttentionOptions& o) {
  SoftmaxOptions softmax = o.softmax;
  softmax.bias_order = BiasOrder::kAfterCap;
  if (o.deterministic) softmax.dropout = 0;
  softmax.q_block = o.query_chunk_size;
  softmax.k_block = o.key_chunk_size;
  return softmax;
}

namespace {

Mask whole_mask(const RingAttentionOptions& options, const Dims& d) {
  return compose(ring_mask(options), {d.batch, d.q_heads, d.kv_heads, d.queries, d.keys}).mask;
}

}  // namespace

Shares ring_shares(const RingAttentionOptions& options, const Dims& whole, Index ranks) {
  return assigned_queries(options.assign, whole_mask(options, whole), ranks);
}

RingShard::RingShard(const Communicator& ring, const Tensor& query, const Tensor& key,
                     const Tensor& value, const RingAttentionOptions& options)
    : options_(options), rank_(ring.rank()), ranks_(ring.size()) {
  SoftmaxInputs inputs{&query, &key, &value, nullptr, nullptr, options.softmax_aux};
  d_ = checked_dims(inputs, ring_softmax(options));
  Dims whole = d_;
  whole.keys *= ranks_;
  whole.queries = options.all_queries > 0 ? options.all_queries : d_.queries * ranks_;
  if (options.bias) check_bias(*options.bias, whole);
  mask_ = whole_mask(options, whole);
  shares_ = assigned_queries(options.assign, mask_, ranks_);
  check_queries(whole.queries);
}

void RingShard::check_queries(Index total) const {
  Index own = 0;
  for (const Range& range : queries()) own += range.size();
  if (own != d_.queries) {
    refuse_shape(fmt::format("rank {} of {} has {} queries, expected its share of {}, {}", rank_,
                             ranks_, d_.queries, total, own));
  }
  if (queries().size() > 1 && ring_softmax(options_).dropout > 0) {
    refuse(
        fmt::format("pdrop with assign={}: weights are dropped by their indices, which is only "
                    "known for contiguous queries",
                    kAssignWords[static_cast<std::size_t>(options_.assign)]));
  }
}

Mask RingShard::mask_of(Index rank, Range keys) const {
  return rows_of(sliced(mask_, {0, mask_.batch()}, {0, mask_.heads()}, {0, mask_.queries()}, keys),
                 shares_[as_size(rank)]);
}

std::vector<std::vector<Range>> RingShard::seen_keys(Index reader, Index owner) const {
  const Mask mask = mask_of(reader, keys(owner));
  std::vector<std::vector<Range>> seen;
  for (Index b = 0; b < mask.batch(); ++b) {
    std::vector<bool> tiles(as_size(ceil_div(d_.keys, kKeyTile)));
    std::vector<std::uint32_t> done;
    for (Index h = 0; h < mask.heads(); ++h) {
      const std::uint32_t plane = mask.index_of(b, h);
      if (std::ranges::find(done, plane) != done.end()) continue;
      done.push_back(plane);
      mark_tiles(*mask.distinct()[plane], tiles);
    }
    seen.push_back(runs_of(tiles, d_.keys));
  }
  return seen;
}

Range RingShard::seeing_queries(Range keys) const {
  const Mask seen = mask(keys);
  Range stretch{d_.queries, 0};
  std::vector<TileRun> runs;
  for (Index q = 0; q < d_.queries; q += kQueryTile) {
    const Range tile{q, std::min(q + kQueryTile, d_.queries)};
    runs.clear();
    for (const PlanePtr& plane : seen.distinct()) plane->tiles(tile, kKeyTile, runs);
    if (!runs.empty()) stretch = {std::min(stretch.begin, tile.begin), tile.end};
  }
  return stretch.empty() ? Range{} : stretch;
}

std::optional<Tensor> RingShard::bias(Range keys) const {
  if (!options_.bias) return std::nullopt;
  return take(*options_.bias, part_of_bias(*options_.bias, queries(), keys));
}

void RingShard::add_bias_gradient(const Tensor& part, Range keys, Tensor& whole) const {
  add(part, part_of_bias(whole, queries(), keys), whole);
}

SoftmaxOptions RingShard::softmax(Range keys, EmptyRow empty_row) const {
  SoftmaxOptions softmax = ring_softmax(options_);
  softmax.empty_row = empty_row;
  softmax.first_query = queries().empty() ? 0 : queries().front().begin;
  softmax.first_key = keys.begin;
  return softmax;
}

}  // namespace maskctl::attention
