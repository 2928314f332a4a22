// What CPU attention reads of a block of queries, against a dense twin.
#include "maskctl/attention/cpu/tiles.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

/// From the first to the last open key of a row inside `keys`.
Range span_of(const twin::Dense& dense, Index row, Range keys) {
  Range span;
  for (Index k = keys.begin; k < keys.end; ++k) {
    if (!dense.get(row, k)) continue;
    span = {span.empty() ? k : span.begin, k + 1};
  }
  return span;
}

/// The spans and the closed cells of a tile, inside it and among keys on both sides of it.
void check_rows(const KeyTile& tile, const twin::Dense& dense, Range queries) {
  const Range around{std::max<Index>(tile.keys.begin - 5, 0), tile.keys.end - tile.keys.size() / 3};
  for (Index i = queries.begin; i < queries.end; ++i) {
    const Index row = i - queries.begin;
    const Range seen = tile.span(row), wanted = span_of(dense, i, tile.keys);
    REQUIRE((wanted.empty() ? seen.empty() : seen == wanted));
    for (const Range among : {tile.keys, around}) {
      std::vector<Index> closed, closed_in_twin;
      tile.each_closed(row, among, [&](Range range) {
        REQUIRE(!range.empty());
        REQUIRE((closed.empty() || closed.back() + 1 < range.begin));
        for (Index k = range.begin; k < range.end; ++k) closed.push_back(k);
      });
      const Range inside = intersect(among, tile.keys);
      for (Index k = inside.begin; k < inside.end; ++k) {
        if (!dense.get(i, k)) closed_in_twin.push_back(k);
      }
      REQUIRE(closed == closed_in_twin);
    }
  }
}

void check_block(const QueryBlock& block, const twin::Dense& dense, Range rows) {
  Index last = 0;
  std::vector<bool> covered(as_size(dense.k));
  for (const KeyTile& tile : block.tiles()) {
    REQUIRE(tile.keys.begin >= last);
    last = tile.keys.end;
    REQUIRE(tile.full == (twin::classify(dense, rows, tile.keys) == Fill::kFull));
    check_rows(tile, dense, rows);
    for (Index k = tile.keys.begin; k < tile.keys.end; ++k) covered[as_size(k)] = true;
  }
  for (Index i = rows.begin; i < rows.end; ++i) {
    for (Index k = 0; k < dense.k; ++k) REQUIRE((!dense.get(i, k) || covered[as_size(k)]));
  }
}

TEST_CASE("a block of queries knows its tiles, spans and closed cells, whatever holds the plane") {
  std::mt19937 random(1);
  const twin::Pick pick = twin::pick_from(random);
  for (int n = 0; n < 12 * twin::kLeaves; ++n) {
    const Index queries = pick(1, 60), keys = pick(1, 200);
    const twin::Pair pair =
        twin::make_leaf(static_cast<twin::Leaf>(n % twin::kLeaves), pick, queries, keys);
    INFO("leaf " << n % twin::kLeaves << " number " << n);
    const Index q_tile = pick(1, 30), k_tile = pick(1, 90);
    QueryBlock block(q_tile, k_tile);
    const Index first = pick(0, queries - 1);
    for (int again = 0; again < 2; ++again) {  // nothing of the earlier block may stay
      const Range rows{first, std::min(first + pick(1, q_tile), queries)};
      block.read(pair.plane, nullptr, rows);
      check_block(block, pair.dense, rows);
    }
  }
}

/// The lower triangle, which counts how often it is read.
class CountedPlane : public Plane {
 public:
  explicit CountedPlane(Index n) : Plane(n, n) {}
  void rows(Range q, const RowSink& sink) const override {
    ++reads;
    for (Index i = q.begin; i < q.end; ++i) {
      const Run run{0, static_cast<std::int32_t>(i) + 1};
      sink({i, i + 1}, {{&run, 1}, {}});
    }
  }
  Index bytes() const override { return 0; }

  mutable int reads = 0;
};

TEST_CASE("a block of queries comes from a block map that is of its plane and has its tiles") {
  const auto plane = std::make_shared<CountedPlane>(40), other = std::make_shared<CountedPlane>(40);
  const BlockMap map(plane, 8, 16), tall(plane, 16, 16), wide(plane, 8, 32), of_other(other, 8, 16);
  QueryBlock block(8, 16);
  for (const BlockMap* given : {&map, &tall, &wide, &of_other}) {
    plane->reads = 0;
    block.read(plane, given, {16, 24});
    CHECK((plane->reads == 0) == (given == &map));
    check_block(block, twin::dense_of(*plane), {16, 24});
  }
}

}  // namespace
