// Blocks of shared run lists against the dense twin.
#include <random>
#include <string>
#include <vector>

#include "maskctl/mask/bands.h"
#include "maskctl/mask/leaves.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"

namespace maskctl::twin {
namespace {

std::vector<std::int32_t> interleaved(Index n, Index ids, Index longest, std::mt19937& random) {
  std::vector<std::int32_t> out;
  while (static_cast<Index>(out.size()) < n) {
    const auto id = static_cast<std::int32_t>(random() % static_cast<unsigned>(ids));
    out.insert(out.end(), 1 + random() % static_cast<unsigned>(longest), id);
  }
  out.resize(static_cast<std::size_t>(n));
  return out;
}

/// Clips of rows: a causal band, a window, one that lies inside tiles, none.
Pair clip_to(int which, Index q, Index k) {
  const Index low = which == 0 ? -kUnbounded : which == 1 ? -60 : which == 2 ? 3 : -kUnbounded;
  const Index high = which == 0 ? k - q : which == 1 ? 5 : which == 2 ? 9 : kUnbounded;
  return {diagonal_band(q, k, low, high),
          matrix(q, k, [&](Index i, Index j) { return j - i >= low && j - i <= high; })};
}

TEST_CASE("tiles and counts of interleaved ids under clips are those of the cells") {
  std::mt19937 random(7);
  std::string first;
  for (int round = 0; round < 120 && first.empty(); ++round) {
    const Index q = 24 + static_cast<Index>(random() % 120);
    const Index k = round % 3 == 0 ? q : 200 + static_cast<Index>(random() % 500);
    const Index ids = 1 + static_cast<Index>(random() % 4);
    const Index longest = round % 4 == 0 ? 40 : 2;
    const auto of_queries = interleaved(q, ids, 2, random);
    const auto of_keys = interleaved(k, ids, longest, random);
    const Pair clip = clip_to(round % 4, q, k);
    const PlanePtr plane =
        combine(Op::kAnd, equal_ids(of_queries, of_keys, 3, Side::kBoth), clip.plane);
    const Dense ids_twin = matrix(q, k, [&](Index i, Index j) {
      const auto a = of_queries[static_cast<std::size_t>(i)];
      return a == of_keys[static_cast<std::size_t>(j)] && a != 3;
    });
    const Dense want = zip(Op::kAnd, ids_twin, clip.dense);
    for (const Index tile : {1, 2, 4, 5, 16, 64, 100, 800}) {
      for (Index row = 0; row < q && first.empty(); row += 31) {
        first = check_tiles(*plane, want, {row, std::min(row + 31, q)}, tile);
      }
    }
    if (first.empty()) first = check_reading(*plane, want, random, 6);
  }
  REQUIRE(first == "");
}

TEST_CASE("one list under all rows gives full tiles") {
  const Index n = 400;
  std::vector<Run> runs;
  for (std::int32_t at = 0; at < n; at += 40) runs.push_back({at, at + 33});
  const auto count = static_cast<Index>(runs.size());
  const PlanePtr plane =
      row_lists(n, std::move(runs), {0, count}, std::vector<RowRef>(64, {0, 0, n}));
  const Dense want = matrix(64, n, [](Index, Index j) { return j % 40 < 33; });
  for (const Index tile : {8, 10, 16, 40}) {
    REQUIRE(check_tiles(*plane, want, {0, 64}, tile) == "");
    REQUIRE(check_tiles(*plane, want, {5, 6}, tile) == "");
  }
}

TEST_CASE("a tile is not full when a row of it sees nothing") {
  const Index n = 400;
  std::vector<Run> runs;
  for (std::int32_t at = 0; at < n; at += 40) runs.push_back({at, at + 33});
  const auto count = static_cast<Index>(runs.size());
  std::vector<RowRef> refs(64, {0, 0, n});
  refs[9] = {0, 200, 200};
  const PlanePtr plane = row_lists(n, std::move(runs), {0, count}, std::move(refs));
  const Dense want = matrix(64, n, [](Index i, Index j) { return i != 9 && j % 40 < 33; });
  for (const Index tile : {8, 10, 16, 40}) {
    REQUIRE(check_tiles(*plane, want, {0, 16}, tile) == "");
    REQUIRE(check_tiles(*plane, want, {16, 32}, tile) == "");
  }
}

}  // namespace
}  // namespace maskctl::twin
