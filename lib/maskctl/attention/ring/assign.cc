#include "maskctl/attention/ring/assign.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace maskctl::attention {
namespace {

constexpr Index kTile = 128;

/// Joins ranges that touch and drops empty ones.
std::vector<Range> tidy(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> out;
  for (const Range& range : ranges) {
    if (range.empty()) continue;
    if (!out.empty() && out.back().end == range.begin) {
      out.back().end = range.end;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

std::vector<Range> stripe(Index queries, Index ranks, Index rank) {
  std::vector<Range> rows;
  for (Index q = rank; q < queries; q += ranks) rows.push_back({q, q + 1});
  return rows;
}

/// How many key tiles each tile of queries sees, over all batches and heads.
std::vector<Index> tile_costs(const Mask& mask) {
  std::vector<Index> uses(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) ++uses[mask.index_of(b, h)];
  }
  std::vector<Index> costs(as_size(ceil_div(mask.queries(), kTile)));
  std::vector<TileRun> runs;
  for (std::size_t tile = 0; tile < costs.size(); ++tile) {
    const Index first = static_cast<Index>(tile) * kTile;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      runs.clear();
      mask.distinct()[i]->tiles({first, std::min(first + kTile, mask.queries())}, kTile, runs);
      for (const TileRun& run : runs) costs[tile] += uses[i] * run.count;
    }
  }
  return costs;
}

/// Tiles go to the rank in whose part of all costs their middle is.
Shares balanced(const Mask& mask, Index ranks) {
  const std::vector<Index> costs = tile_costs(mask);
  const Index all = std::max<Index>(std::reduce(costs.begin(), costs.end()), 1);
  Shares shares(as_size(ranks));
  Index before = 0;
  for (std::size_t tile = 0; tile < costs.size(); ++tile) {
    const Index rank = (2 * before + costs[tile]) * ranks / (2 * all);
    before += costs[tile];
    const Index first = static_cast<Index>(tile) * kTile;
    shares[as_size(std::min(rank, ranks - 1))].push_back(
        {first, std::min(first + kTile, mask.queries())});
  }
  return shares;
}

Shares by_cost(const Mask& mask, Index ranks) {
  const std::vector<Index> costs = tile_costs(mask);
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t tile) { return costs[tile]; });
  Shares shares(as_size(ranks));
  std::vector<Index> loads(shares.size()), tiles(shares.size());
  for (const std::size_t tile : order) {
    std::size_t least = 0;  // of those with equal loads the one with the fewest tiles
    for (std::size_t r = 1; r < loads.size(); ++r) {
      if (std::pair(loads[r], tiles[r]) < std::pair(loads[least], tiles[least])) least = r;
    }
    loads[least] += costs[tile], ++tiles[least];
    const Index first = static_cast<Index>(tile) * kTile;
    shares[least].push_back({first, std::min(first + kTile, mask.queries())});
  }
  return shares;
}

}  // namespace

Shares assigned_queries(Assign assign, const Mask& mask, Index ranks) {
  const Index n = mask.queries();
  Shares shares(as_size(ranks));
  if (assign == Assign::kCost) shares = by_cost(mask, ranks);
  if (assign == Assign::kBalanced) shares = balanced(mask, ranks);
  for (Index r = 0; r < ranks; ++r) {
    std::vector<Range>& own = shares[as_size(r)];
    if (assign == Assign::kContiguous) own = {part_of(n, ranks, r)};
    if (assign == Assign::kZigzag) {
      own = {part_of(n, 2 * ranks, r), part_of(n, 2 * ranks, 2 * ranks - 1 - r)};
    }
    if (assign == Assign::kStriped) own = stripe(n, ranks, r);
    own = tidy(std::move(own));
  }
  return shares;
}

}  // namespace maskctl::attention
