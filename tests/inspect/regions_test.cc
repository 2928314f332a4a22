// Connected regions of open cells, against a flood fill.
#include "maskctl/inspect/find/regions.h"

#include <random>

#include "inspect/random_masks.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using twin::Dense;

/// The region of a cell by flood fill; closes its cells in `dense`.
Region flood(Dense& dense, Place first) {
  Region out{first, {first.query, first.query + 1}, {first.key, first.key + 1}, 0};
  std::vector<Place> left{first};
  dense.set(first.query, first.key, false);
  while (!left.empty()) {
    const Place at = left.back();
    left.pop_back();
    ++out.cells;
    out.queries = {std::min(out.queries.begin, at.query), std::max(out.queries.end, at.query + 1)};
    out.keys = {std::min(out.keys.begin, at.key), std::max(out.keys.end, at.key + 1)};
    for (Index q = std::max<Index>(at.query - 1, 0); q < std::min(at.query + 2, dense.q); ++q) {
      for (Index k = std::max<Index>(at.key - 1, 0); k < std::min(at.key + 2, dense.k); ++k) {
        if (!dense.get(q, k)) continue;
        dense.set(q, k, false);
        left.push_back({q, k});
      }
    }
  }
  return out;
}

std::vector<Region> flooded(Dense dense) {
  std::vector<Region> out;
  for (Index q = 0; q < dense.q; ++q) {
    for (Index k = 0; k < dense.k; ++k) {
      if (dense.get(q, k)) out.push_back(flood(dense, {q, k}));
    }
  }
  return out;
}

TEST_CASE("regions: those of random planes equal a flood fill", "[regions]") {
  std::mt19937 random(39);
  for (int i = 0; i < 400; ++i) {
    const twin::Pick pick = twin::pick_from(random);
    const Index queries = pick(1, 70), keys = pick(1, 70);
    const auto [plane, dense] =
        twin::make_leaf(static_cast<twin::Leaf>(pick(0, twin::kLeaves - 1)), pick, queries, keys);
    const RegionsFound found = open_regions(*plane);
    const std::vector<Region> expected = flooded(dense);
    CHECK(found.queries == queries);
    CHECK(found.regions == expected);
    for (int j = 0; j < 10; ++j) {
      const Place from{pick(0, queries - 1), pick(-1, keys)};
      const Region *after = nullptr, *before = nullptr;
      for (const Region& region : expected) {
        const auto place = std::pair(region.first.query, region.first.key);
        const auto at = std::pair(from.query, from.key);
        if (place > at && after == nullptr) after = &region;
        if (place < at) before = &region;
      }
      const Region* next = next_region(found.regions, from, Way::kForward);
      const Region* previous = next_region(found.regions, from, Way::kBack);
      CHECK((next != nullptr) == (after != nullptr));
      CHECK((previous != nullptr) == (before != nullptr));
      if (next && after) CHECK(*next == *after);
      if (previous && before) CHECK(*previous == *before);
    }
  }
}

TEST_CASE("regions: a block, a triangle and a diagonal are one region each", "[regions]") {
  const auto regions = [](const std::string& steps) {
    return open_regions(*test::made(100, 100, steps).plane(0, 0)).regions;
  };
  CHECK(regions("not | open:q=30-50,k=3-9") ==
        std::vector<Region>{{{30, 3}, {30, 51}, {3, 10}, 21 * 7}});
  CHECK(regions("causal") == std::vector<Region>{{{0, 0}, {0, 100}, {0, 100}, 5050}});
  CHECK(regions("window:keys=1 | causal") ==
        std::vector<Region>{{{0, 0}, {0, 100}, {0, 100}, 100}});
  CHECK(regions("doc:lens=40+60").size() == 1);  // touching at a corner connects
  CHECK(regions("doc:lens=40+60 | close:q=40").size() == 2);
}

TEST_CASE("regions: adjacent rows without keys form one region", "[regions]") {
  const Mask mask = test::made(20, 30, "close:q=3-5 | close:q=9");
  CHECK(empty_row_regions(*mask.plane(0, 0)).regions ==
        std::vector<Region>{{{3, 0}, {3, 6}, {0, 30}, 90}, {{9, 0}, {9, 10}, {0, 30}, 30}});
}

TEST_CASE("regions: if there are too many, those of the first queries are returned", "[regions]") {
  const Mask mask = test::made(100'000, 8, "not | open:k=0");
  const RegionsFound one = open_regions(*mask.plane(0, 0));
  CHECK(one.regions.size() == 1);
  CHECK(one.queries == 100'000);
  const RegionsFound many =
      open_regions(*test::made(4096, 4096, "random:sparsity=0.9,seed=1").plane(0, 0));
  CHECK(many.queries < 4096);
  CHECK(many.queries > 0);
}

}  // namespace
}  // namespace maskctl
