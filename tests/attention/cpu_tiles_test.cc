// Compares the mask tiles that CPU attention reads for a block of queries with dense cells, and
// tests that it takes them from a BlockMap where one is given.
#include <atomic>

#include "attention/arrays.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/tiles.h"
#include "maskctl/attention/softmax/masked_softmax.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"

namespace cpu_tiles_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

/// Returns the range from the first to the last open key of a row among `keys`.
Range span_of(const twin::Dense& dense, Index row, Range keys) {
  Range span;
  for (Index k = keys.begin; k < keys.end; ++k) {
    if (!dense.get(row, k)) continue;
    span = {span.empty() ? k : span.begin, k + 1};
  }
  return span;
}

/// Checks the open span and the closed keys of each row of a tile, within the tile and within a key
/// range that leaves it.
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

/// Checks that close_row() replaces the closed cells of `among` and nothing else. The starts of
/// `among` and of the tile are a multiple of kVector apart.
void check_closing(const KeyTile& tile, const twin::Dense& dense, Range queries, Range among) {
  for (Index i = queries.begin; i < queries.end; ++i) {
    std::vector<float> x(as_size(among.size() + kVector), 1);
    tile.close_row(i - queries.begin, among, 7, x.data());
    for (Index k = among.begin; k < among.end; ++k) {
      const bool closed = tile.keys.contains(k) && !dense.get(i, k);
      REQUIRE(x[as_size(k - among.begin)] == static_cast<float>(closed ? 7 : 1));
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
    const bool whole_vectors = tile.keys.end % kVector == 0 || tile.keys.end == dense.k;
    if (tile.keys.begin % kVector != 0 || !whole_vectors) continue;
    check_closing(tile, dense, rows, tile.keys);
    check_closing(tile, dense, rows, {0, std::min(tile.keys.end + 40, dense.k)});
    check_closing(tile, dense, rows, {tile.keys.begin + kVector, tile.keys.end});
  }
  for (const KeyTile& tile : block.tiles()) {
    for (Index k = tile.keys.begin; k < tile.keys.end; ++k) covered[as_size(k)] = true;
  }
  for (Index i = rows.begin; i < rows.end; ++i) {
    for (Index k = 0; k < dense.k; ++k) REQUIRE((!dense.get(i, k) || covered[as_size(k)]));
  }
}

TEST_CASE(
    "tiles, spans and closed cells of a block of queries equal the dense mask for every plane") {
  std::mt19937 random(1);
  const twin::Pick pick = twin::pick_from(random);
  for (int n = 0; n < 12 * twin::kLeaves; ++n) {
    const Index queries = pick(1, 60), keys = pick(1, 200);
    const twin::Pair pair =
        twin::make_leaf(static_cast<twin::Leaf>(n % twin::kLeaves), pick, queries, keys);
    INFO("leaf " << n % twin::kLeaves << " number " << n);
    const Index q_tile = pick(1, 30), k_tile = pick(0, 1) ? 16 * pick(1, 6) : pick(1, 90);
    QueryBlock block(q_tile, k_tile);
    const Index first = pick(0, queries - 1);
    // Nothing of the first block may be left when the second is read.
    for (int again = 0; again < 2; ++again) {
      const Range rows{first, std::min(first + pick(1, q_tile), queries)};
      block.read(pair.plane, nullptr, rows);
      check_block(block, pair.dense, rows);
    }
  }
}

/// A causal plane that counts how often it is read.
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

  // Atomic, since attention reads the plane from several threads.
  mutable std::atomic<int> reads = 0;
};

TEST_CASE("a block of queries is read from a block map if it has the same plane and tile sizes") {
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

TEST_CASE(
    "attention under a block map gives the bits of the plain mask, without reading its plane") {
  constexpr Index kTokens = 200;
  maskctl::attention_test::Random r(3);
  const Tensor query = r.normal({1, kTokens, 2, 16}), key = r.normal({1, kTokens, 2, 16}),
               value = r.normal({1, kTokens, 2, 16}), d_out = r.normal({1, kTokens, 2, 16});
  const auto plane = std::make_shared<CountedPlane>(kTokens);
  const Mask mask(plane);
  const SoftmaxInputs inputs{&query, &key, &value, &mask};
  const SoftmaxResult wanted = softmax_forward(inputs);
  const SoftmaxGradients gradients = softmax_backward(inputs, wanted, d_out);
  // One map has the tile size of the forward pass of this call, one that of the backward pass, one
  // neither.
  const BlockMap forward_map(plane, 192, 224), backward_map(plane, 96, 96), other(plane, 128, 128);
  for (const BlockMap* map : {&forward_map, &backward_map, &other}) {
    MaskArguments arguments;
    arguments.block_map = map;
    plane->reads = 0;
    const SoftmaxResult result = masked_forward(inputs, arguments, {});
    CHECK((plane->reads == 0) == (map == &forward_map));
    CHECK(std::ranges::equal(result.out.bytes(), wanted.out.bytes()));
    CHECK(std::ranges::equal(result.lse.bytes(), wanted.lse.bytes()));
    plane->reads = 0;
    const SoftmaxGradients got = masked_backward(inputs, arguments, result, d_out, {});
    CHECK((plane->reads == 0) == (map == &backward_map));
    CHECK(std::ranges::equal(got.query.bytes(), gradients.query.bytes()));
    CHECK(std::ranges::equal(got.key.bytes(), gradients.key.bytes()));
    CHECK(std::ranges::equal(got.value.bytes(), gradients.value.bytes()));
  }
}

TEST_CASE("a block map and a window close every cell that either of them closes") {
  constexpr Index kTokens = 200;
  const auto plane = std::make_shared<CountedPlane>(kTokens);
  const BlockMap map(plane, 192, 224);
  MaskArguments arguments;
  arguments.block_map = &map;
  arguments.window = Window(3);
  const MaskExtents extents{1, 2, 2, kTokens, kTokens};
  const PlanePtr composed = compose(arguments, extents).mask.plane(0, 0);
  CHECK(twin::dense_of(*composed) == twin::dense_of(*diagonal_band(kTokens, kTokens, -3, 0)));
  arguments.window.reset();
  CHECK(compose(arguments, extents).mask.plane(0, 0) == plane);
}

}  // namespace

}  // namespace cpu_tiles_cases
