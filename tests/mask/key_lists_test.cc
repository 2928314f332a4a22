// Planes that keep lists of keys as arrays have them, against the dense twin.
#include "maskctl/mask/planes/key_lists.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"
#include "support/rounds.h"

namespace maskctl::twin {
namespace {

/// Lists of blocks, of which some are empty, some equal their neighbour, and some have keys that
/// touch; and their twin.
Pair drawn_lists(Index queries, Index keys, BlockSize block, std::mt19937& random) {
  const auto pick = pick_from(random);
  const Index columns = ceil_div(keys, block.k), lists = ceil_div(queries, block.q);
  auto made = std::make_shared<ListedKeys>();
  made->width = pick(1, 12);
  made->block = block;
  auto entries = std::make_shared<std::vector<std::int32_t>>();
  std::vector<std::set<Index>> seen;
  for (Index i = 0; i < lists; ++i) {
    std::set<Index> of;
    const Index most = pick(0, 3) == 0 ? 0 : made->width;
    for (Index n = pick(0, most); n > 0; --n) of.insert(pick(0, columns - 1));
    if (i > 0 && pick(0, 3) == 0) of = seen.back();
    std::vector<std::int32_t> list(of.begin(), of.end());
    made->outlines.push_back(outline_of(list));
    list.resize(as_size(made->width), -1);
    entries->insert(entries->end(), list.begin(), list.end());
    seen.push_back(std::move(of));
  }
  made->entries = *entries;
  made->owner = entries;
  return {std::make_shared<KeyLists>(queries, keys, made),
          matrix(queries, keys, [&](Index q, Index k) {
            return seen[as_size(q / block.q)].count(k / block.k) > 0;
          })};
}

TEST_CASE("lists of keys, clipped by lines, sliced and joined, equal the twin") {
  std::mt19937 random(62);
  std::string first;
  for (int round = 0; round < test::rounds(300) && first.empty(); ++round) {
    const auto pick = pick_from(random);
    const Index queries = pick(1, 60), keys = pick(1, 200);
    const BlockSize block{pick(0, 1) ? 1 : pick(1, 9), pick(0, 1) ? 1 : pick(1, 70)};
    Pair now = drawn_lists(queries, keys, block, random);
    CAPTURE(round, queries, keys, block.q, block.k);
    first = check_reading(*now.plane, now.dense, random, 6);
    for (int step = pick(0, 3); step > 0 && first.empty(); --step) {
      const Index low = pick(0, 2) ? pick(-80, 80) : -kUnbounded;
      const Index high = pick(0, 2) ? pick(-20, 150) : kUnbounded;
      const auto is_open = [&](Index i, Index j) { return j - i >= low && j - i <= high; };
      const Op op = std::array{Op::kAnd, Op::kAnd, Op::kSub, Op::kXor}[as_size(pick(0, 3))];
      now = {combine(op, now.plane, diagonal_band(queries, keys, low, high)),
             zip(op, now.dense, matrix(queries, keys, is_open))};
      first = check_reading(*now.plane, now.dense, random, 6);
    }
  }
  REQUIRE(first == "");
}

TEST_CASE("lists of keys that are clipped stay lists of keys") {
  std::mt19937 random(63);
  const Pair lists = drawn_lists(50, 150, {1, 1}, random);
  const PlanePtr causal = diagonal_band(50, 150, -kUnbounded, 0);
  CHECK(dynamic_cast<const KeyLists*>(combine(Op::kAnd, lists.plane, causal).get()));
  CHECK(dynamic_cast<const KeyLists*>(combine(Op::kSub, lists.plane, causal).get()));
  CHECK(dynamic_cast<const KeyLists*>(lists.plane->sliced({3, 40}, {0, 150}).get()));
}

}  // namespace
}  // namespace maskctl::twin
