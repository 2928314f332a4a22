// Finding the next open cell, empty row or partial tile of a mask, against loops over every cell.
#include "maskctl/inspect/find/find.h"

#include <algorithm>
#include <random>

#include "inspect/random_masks.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using twin::Dense;

/// Calls f for all places of a plane, from the first on or from the last back.
template <typename F>
void each_place(Index queries, Index keys, Way way, F&& f) {
  for (Index i = 0; i < queries * keys; ++i) {
    const Index at = way == Way::kForward ? i : queries * keys - 1 - i;
    f(Place{at / keys, at % keys});
  }
}

bool after(Place a, Place b, Way way) {
  const auto less = [](Place x, Place y) {
    return x.query != y.query ? x.query < y.query : x.key < y.key;
  };
  return way == Way::kForward ? less(b, a) : less(a, b);
}

/// Returns the first place after `from`, in this direction, for which is(place) is true.
template <typename Is>
std::optional<Place> first_after(const Dense& dense, Place from, Way way, Is&& is) {
  std::optional<Place> found;
  each_place(dense.q, dense.k, way, [&](Place place) {
    if (!found && after(place, from, way) && is(place)) found = place;
  });
  return found;
}

bool partial(const Dense& dense, Place first, BlockSize tile) {
  Index open = 0, cells = 0;
  for (Index q = first.query; q < std::min(first.query + tile.q, dense.q); ++q) {
    for (Index k = first.key; k < std::min(first.key + tile.k, dense.k); ++k, ++cells) {
      open += dense.get(q, k);
    }
  }
  return open > 0 && open < cells;
}

std::vector<Run> runs_of(Index extent, const std::function<bool(Index)>& open) {
  std::vector<Run> out;
  for (std::int32_t i = 0; i < extent; ++i) {
    if (!open(i)) continue;
    if (out.empty() || out.back().end != i) out.push_back({i, i});
    out.back().end = i + 1;
  }
  return out;
}

void check_place(const Plane& plane, const Dense& dense, Place from, Way way) {
  INFO("from " << from.query << "," << from.key << (way == Way::kForward ? " on" : " back"));
  CHECK(next_open(plane, from, way) == first_after(dense, from, way, [&](Place place) {
          return dense.get(place.query, place.key);
        }));
  const auto row =
      first_after(dense, {from.query, way == Way::kForward ? dense.k : -1}, way, [&](Place place) {
        return runs_of(dense.k, [&](Index k) { return dense.get(place.query, k); }).empty();
      });
  CHECK(next_empty_row(plane, from.query, way) == (row ? std::optional(row->query) : std::nullopt));
  const BlockSize tile{4, 3};
  // A tile counts as its first cell here, and all tiles of one tile row come before the next row.
  const Place corner{from.query / tile.q * tile.q, from.key / tile.k * tile.k};
  CHECK(next_partial_tile(plane, tile, from, way) ==
        first_after(dense, corner, way, [&](Place place) {
          return place.query % tile.q == 0 && place.key % tile.k == 0 &&
                 partial(dense, place, tile);
        }));
}

TEST_CASE("find: the next open cell, empty row or partial tile is that of loops over every cell",
          "[inspect][find]") {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const Index queries = 1 + static_cast<Index>(random() % 17);
    const Index keys = 1 + static_cast<Index>(random() % 17);
    const test::MaskPair pair = test::random_mask(random, queries, keys);
    const Plane& plane = *pair.mask.plane(0, 0);
    for (const Way way : {Way::kForward, Way::kBack}) {
      each_place(queries, keys, way,
                 [&](Place from) { check_place(plane, pair.dense, from, way); });
    }
    for (Index q = 0; q < queries; ++q) {
      CHECK(row_runs(plane, q) == runs_of(keys, [&](Index k) { return pair.dense.get(q, k); }));
    }
    for (Index k = 0; k < keys; ++k) {
      const Range part{queries / 3, queries - queries / 4};
      CHECK(column_runs(plane, k, part) ==
            runs_of(queries, [&](Index q) { return part.contains(q) && pair.dense.get(q, k); }));
    }
  }
}

TEST_CASE("find: a search reports how many rows it has passed", "[inspect][find]") {
  const PlanePtr none = empty_plane(1000, 5);
  std::vector<Index> said;
  const RowsPassed passed = [&](Index rows) { said.push_back(rows); };
  const auto said_of = [&](auto&& search) {
    said.clear();
    CHECK_FALSE(search());
    return said;
  };
  for (const Way way : {Way::kForward, Way::kBack}) {
    const Place from = way == Way::kForward ? Place{-1, 5} : Place{1000, -1};
    const Place first_tile = way == Way::kForward ? Place{0, 0} : Place{999, 0};
    const std::vector<std::vector<Index>> all = {
        said_of([&] { return next_open(*none, from, way, passed); }),
        said_of([&] { return next_empty_row(*full_plane(1000, 5), from.query, way, passed); }),
        said_of([&] {
          return next_partial_tile(*none, {10, 5}, first_tile, way, passed);
        })};
    for (const std::vector<Index>& rows : all) {
      CHECK(std::ranges::is_sorted(rows));
      REQUIRE(std::ssize(rows) > 60);
      CHECK(rows.back() >= 1000);
    }
  }
}

}  // namespace
}  // namespace maskctl
