#include "maskctl/attention/ring/query_tiles.h"

#include <algorithm>

namespace maskctl::attention {
namespace {

std::vector<Index> uses_of(const Mask& mask) {
  std::vector<Index> uses(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) ++uses[mask.index_of(b, h)];
  }
  return uses;
}

QueryTile tile_of(const Mask& mask, const std::vector<Index>& uses, Range queries) {
  QueryTile tile{queries, 0, {}};
  std::vector<TileRun> runs;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    runs.clear();
    mask.distinct()[i]->tiles(queries, kDealtTile, runs);
    tile.cost += uses[i];
    for (const TileRun& run : runs) {
      tile.cost += uses[i] * run.count;
      tile.keys.push_back({run.first, run.first + run.count});
    }
  }
  tile.keys = joined(std::move(tile.keys));
  return tile;
}

}  // namespace

std::vector<Range> joined(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> out;
  for (const Range& range : ranges) {
    if (range.empty()) continue;
    if (!out.empty() && range.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

std::vector<QueryTile> query_tiles(const Mask& mask, const std::vector<Range>& parts) {
  const std::vector<Index> uses = uses_of(mask);
  std::vector<QueryTile> tiles;
  for (const Range& part : parts) {
    for (Index q = part.begin; q < part.end; q += kDealtTile) {
      tiles.push_back(tile_of(mask, uses, {q, std::min(q + kDealtTile, part.end)}));
    }
  }
  return tiles;
}

}  // namespace maskctl::attention
