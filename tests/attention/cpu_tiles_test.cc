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

void check_rows(const QueryBlock& block, const twin::Dense& dense, Range queries, Range keys) {
  for (Index i = queries.begin; i < queries.end; ++i) {
    const Index row = i - queries.begin;
    const Range seen = block.span(row, keys), wanted = span_of(dense, i, keys);
    REQUIRE((wanted.empty() ? seen.empty() : seen == wanted));
    constexpr Index kStride = 3;
    std::vector<float> along(as_size(keys.size()), 1), down(as_size(keys.size() * kStride), 1);
    block.close_row(row, keys, 7, along.data());
    block.close_column(row, keys, 7, down.data(), kStride);
    for (Index k = keys.begin; k < keys.end; ++k) {
      const float value = dense.get(i, k) ? 1 : 7;
      REQUIRE(along[as_size(k - keys.begin)] == value);
      REQUIRE(down[as_size((k - keys.begin) * kStride)] == value);
    }
  }
}

TEST_CASE("a block of queries knows its tiles, spans and closed cells, whatever holds the plane") {
  std::mt19937 random(1);
  const twin::Pick pick = twin::pick_from(random);
  QueryBlock block;  // one object for all: nothing of an earlier block may stay
  for (int n = 0; n < 12 * twin::kLeaves; ++n) {
    const Index queries = pick(1, 60), keys = pick(1, 200), tile = pick(1, 90);
    const twin::Pair pair =
        twin::make_leaf(static_cast<twin::Leaf>(n % twin::kLeaves), pick, queries, keys);
    INFO("leaf " << n % twin::kLeaves << " number " << n);
    const Index first = pick(0, queries - 1);
    const Range rows{first, pick(first + 1, queries)};
    block.read(*pair.plane, rows, tile);
    std::vector<bool> covered(as_size(keys));
    bool partial = false;
    for (const KeyTile& t : block.tiles()) {
      partial |= !t.full;
      for (Index k = t.keys.begin; k < t.keys.end; ++k) covered[as_size(k)] = true;
      for (Index i = rows.begin; t.full && i < rows.end; ++i) {
        REQUIRE(span_of(pair.dense, i, t.keys) == t.keys);
      }
    }
    for (Index i = rows.begin; i < rows.end; ++i) {
      const bool sees = !span_of(pair.dense, i, {0, keys}).empty();
      REQUIRE(block.sees(i - rows.begin) == sees);
      for (Index k = 0; k < keys; ++k) REQUIRE((!pair.dense.get(i, k) || covered[as_size(k)]));
    }
    if (!partial) continue;
    for (const KeyTile& t : block.tiles()) {
      if (!t.full) check_rows(block, pair.dense, rows, t.keys);
    }
    check_rows(block, pair.dense, rows, {0, keys});
    const Index begin = pick(0, keys - 1);
    check_rows(block, pair.dense, rows, {begin, pick(begin + 1, keys)});
  }
}

}  // namespace
