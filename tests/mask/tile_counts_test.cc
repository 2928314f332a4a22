// A plane that knows the counts of its blocks, against a bool array: in any rectangle, and between
// borders of blocks.
#include "maskctl/mask/planes/tile_counts.h"

#include <algorithm>
#include <random>

#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"

namespace maskctl {
namespace {

/// A random border of blocks: a multiple of 64, or the end of the axis.
Index border(const twin::Pick& pick, Index extent) {
  return std::min(64 * pick(0, extent / 64 + 1), extent);
}

Range between(Index a, Index b) { return {std::min(a, b), std::max(a, b)}; }

TEST_CASE("tile counts: the plane keeps its cells, and is counted from its blocks",
          "[mask][planes]") {
  std::mt19937 random(11);
  const twin::Pick pick = twin::pick_from(random);
  for (int leaf = 0; leaf < twin::kLeaves; ++leaf) {
    INFO("leaf " << leaf);
    const Index queries = pick(1, 300), keys = pick(1, 300);
    const twin::Pair pair = twin::make_leaf(static_cast<twin::Leaf>(leaf), pick, queries, keys);
    const PlanePtr plane = with_tile_counts(pair.plane);
    CHECK(twin::check_plane(plane, pair.dense, random, 8) == "");
    for (int i = 0; i < 20; ++i) {
      const Range q = between(border(pick, queries), border(pick, queries));
      const Range k = between(border(pick, keys), border(pick, keys));
      CHECK(twin::check_rectangle(*plane, pair.dense, q, k) == "");
      std::vector<Index> edges{k.begin};
      for (Index at = k.begin / 64 * 64 + 64; at < k.end; at += 64) edges.push_back(at);
      if (k.end > k.begin) edges.push_back(k.end);
      CHECK(twin::check_counts(*plane, pair.dense, q, edges) == "");
    }
  }
}

TEST_CASE("tile counts: larger planes get larger blocks", "[mask][planes]") {
  // 70 000 queries make blocks of 128 queries.
  std::vector<Run> runs{{3, 5}, {9, 10}};
  std::vector<RowRef> refs(70'000, RowRef{0, 0, 10});
  const PlanePtr plane = row_lists(10, runs, {0, 2}, refs);
  const PlanePtr known = with_tile_counts(plane);
  CHECK(known->count() == 210'000);
  CHECK(known->count({128, 640}, {0, 10}) == 3 * 512);
  CHECK(known->count({64, 640}, {0, 10}) == 3 * 576);
  CHECK(known->bytes() - plane->bytes() == 8 * 548 * 2);
}

TEST_CASE("tile counts: the block size of each axis depends on that axis", "[mask][planes]") {
  // 70 000 queries and 640 keys make blocks of 128 x 64 cells.
  const PlanePtr band = diagonal_band(70'000, 640, -100, 0);
  const PlanePtr known = with_tile_counts(band);
  for (Index key = 0; key < 640; key += 64) {
    CHECK(known->count({512, 768}, {key, key + 64}) == band->count({512, 768}, {key, key + 64}));
  }
  CHECK(known->bytes() - band->bytes() == 8 * 548 * 11);
}

}  // namespace
}  // namespace maskctl
