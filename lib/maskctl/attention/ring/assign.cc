#include "maskctl/attention/ring/assign.h"

#include <algorithm>
#include <functional>

#include "maskctl/attention/ring/balance.h"
#include "maskctl/attention/ring/query_tiles.h"

namespace maskctl::attention {
namespace {

std::vector<Range> stripe(Index queries, Index ranks, Index rank) {
  std::vector<Range> rows;
  for (Index q = rank; q < queries; q += ranks) rows.push_back({q, q + 1});
  return rows;
}

Shares by_cost(const Mask& mask, Index ranks) {
  std::vector<QueryTile> tiles = query_tiles(mask, {{0, mask.queries()}});
  std::ranges::stable_sort(tiles, std::greater<>(), &QueryTile::cost);
  Shares shares(as_size(ranks));
  std::vector<Index> loads(shares.size());
  for (const QueryTile& tile : tiles) {
    const auto least = std::ranges::min_element(loads) - loads.begin();
    loads[as_size(least)] += tile.cost;
    shares[as_size(least)].push_back(tile.queries);
  }
  return shares;
}

}  // namespace

Shares assigned_queries(Assign assign, const Mask& mask, Index ranks) {
  const Index n = mask.queries();
  Shares shares(as_size(ranks));
  if (assign == Assign::kCost) shares = by_cost(mask, ranks);
  if (assign == Assign::kBalanced) shares = balanced_queries(mask, ranks);
  for (Index r = 0; r < ranks; ++r) {
    std::vector<Range>& own = shares[as_size(r)];
    if (assign == Assign::kContiguous) own = {part_of(n, ranks, r)};
    if (assign == Assign::kZigzag) {
      own = {part_of(n, 2 * ranks, r), part_of(n, 2 * ranks, 2 * ranks - 1 - r)};
    }
    if (assign == Assign::kStriped) own = stripe(n, ranks, r);
    own = joined(std::move(own));
  }
  return shares;
}

}  // namespace maskctl::attention
