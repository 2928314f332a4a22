// Facts about whole rows and columns that recognise and diff use, for planes of every kind, against
// loops over every cell.
#include <algorithm>
#include <random>

#include "inspect/random_masks.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/lone_cells.h"
#include "maskctl/inspect/recognise/regions.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

/// Calls f(query, key) for each open cell.
template <typename F>
void each_open(const twin::Dense& dense, F&& f) {
  for (Index q = 0; q < dense.q; ++q) {
    for (Index k = 0; k < dense.k; ++k) {
      if (dense.get(q, k)) f(static_cast<std::size_t>(q), static_cast<std::size_t>(k));
    }
  }
}

}  // namespace

TEST_CASE("touched queries and keys are those with an open cell", "[recognise]") {
  std::mt19937 random(41);
  const twin::Pick pick = twin::pick_from(random);
  for (int n = 0; n < 400; ++n) {
    const Index queries = pick(1, 90), keys = pick(1, 90);
    const auto [plane, dense] =
        twin::make_leaf(static_cast<twin::Leaf>(n % twin::kLeaves), pick, queries, keys);
    std::vector<std::uint8_t> q(static_cast<std::size_t>(queries)),
        k(static_cast<std::size_t>(keys));
    each_open(dense, [&](std::size_t i, std::size_t j) { q[i] = k[j] = 1; });
    const recognition::Touched found = recognition::touched(*plane);
    REQUIRE(found.q == q);
    REQUIRE(found.k == k);
    Index in_ranges = 0;
    for (const Range& range : recognition::ranges_of(found.k)) in_ranges += range.size();
    REQUIRE(in_ranges == std::accumulate(k.begin(), k.end(), Index{0}));
  }
}

TEST_CASE("flipping the found regions turns one mask into the other, up to the counted cells",
          "[diff]") {
  std::mt19937_64 random(3);
  const auto number = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  const auto part = [&](Index extent) {
    const Index begin = number(0, extent - 1);
    return Range{begin, number(begin + 1, extent)};
  };
  for (int i = 0; i < 300; ++i) {
    const Index queries = number(1, 40), keys = number(1, 70);
    PlanePtr a = diagonal_band(queries, keys, -number(0, 60), number(0, 10)), b = a;
    for (Index n = number(0, 3); n > 0; --n) {
      const Op op = number(0, 1) == 0 ? Op::kOr : Op::kSub;
      b = combine(op, b, rectangle(queries, keys, part(queries), part(keys)));
    }
    const Regions found = regions_between(a, b);
    const PlanePtr made = maskctl::apply(Mask(a), found.chain).plane(0, 0);
    CHECK(combine(Op::kXor, made, b)->count() == found.residue);
    CHECK(found.residue <= combine(Op::kXor, a, b)->count());
  }
}

TEST_CASE("cells that differ from both neighbours on a line are removed as lone cells",
          "[recognise]") {
  const PlanePtr documents =
      combine(Op::kOr, rectangle(70, 70, {0, 30}, {0, 30}), rectangle(70, 70, {30, 70}, {30, 70}));
  const PlanePtr rule = combine(Op::kAnd, documents, diagonal_band(70, 70, -kUnbounded, 0));
  const PlanePtr cells =
      combine(Op::kOr, rectangle(70, 70, {50, 51}, {3, 4}), rectangle(70, 70, {20, 21}, {9, 10}));
  const auto cleaned = recognition::without_lone_cells(combine(Op::kXor, rule, cells));
  CHECK(std::ranges::any_of(cleaned, [&](const PlanePtr& plane) {
    return combine(Op::kXor, plane, rule)->count() == 0;
  }));
  // Lone cells are also removed from a mask that is too large to be read as bits.
  constexpr Index kTokens = 1 << 20;
  const PlanePtr large = diagonal_band(kTokens, kTokens, -4095, 0);
  const PlanePtr leak = rectangle(kTokens, kTokens, {700000, 700001}, {5, 6});
  const auto large_cleaned = recognition::without_lone_cells(combine(Op::kXor, large, leak));
  REQUIRE(!large_cleaned.empty());
  CHECK(combine(Op::kXor, large_cleaned.front(), large)->count() == 0);
}
