// Planes whose rows share lists of runs, against the dense twin.
#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/words.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"
#include "support/rounds.h"

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

/// A band that clips rows, and its twin: causal, a window, a band inside tiles, or no clip.
Pair clip_to(int which, Index q, Index k) {
  const Index low = which == 0 ? -kUnbounded : which == 1 ? -60 : which == 2 ? 3 : -kUnbounded;
  const Index high = which == 0 ? k - q : which == 1 ? 5 : which == 2 ? 9 : kUnbounded;
  return {diagonal_band(q, k, low, high),
          matrix(q, k, [&](Index i, Index j) { return j - i >= low && j - i <= high; })};
}

/// Checks tiles of many sizes, `rows` rows at a time, then every other way of reading a plane.
/// Returns the first difference, or "".
std::string check_tiles_and_reading(const Plane& plane, const Dense& want, Index rows,
                                    std::mt19937& random) {
  std::string first;
  for (const Index tile : {1, 2, 4, 5, 16, 64, 100, 800}) {
    for (Index row = 0; row < want.q && first.empty(); row += rows) {
      first = check_tiles(plane, want, {row, std::min(row + rows, want.q)}, tile);
    }
  }
  return first.empty() ? check_reading(plane, want, random, 6) : first;
}

TEST_CASE("tiles and counts of clipped interleaved ids equal the twin") {
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
    first = check_tiles_and_reading(*plane, want, 31, random);
  }
  REQUIRE(first == "");
}

TEST_CASE("tiles and counts of clipped block grids equal the twin") {
  std::mt19937 random(11);
  std::string first;
  for (int round = 0; round < 80 && first.empty(); ++round) {
    const Index q = 24 + static_cast<Index>(random() % 120);
    const Index k = round % 3 == 0 ? q : 200 + static_cast<Index>(random() % 500);
    const Index q_size = 1 + static_cast<Index>(random() % 40);
    const Index k_size = 1 + static_cast<Index>(random() % 40);
    const Index columns = ceil_div(k, k_size);
    std::vector<std::uint8_t> map(static_cast<std::size_t>(ceil_div(q, q_size) * columns));
    for (std::uint8_t& block : map) block = random() % 3 == 0;
    const Pair clip = clip_to(round % 4, q, k);
    const Dense grid = matrix(q, k, [&](Index i, Index j) {
      return map[static_cast<std::size_t>(i / q_size * columns + j / k_size)] == 1;
    });
    const PlanePtr blocks = block_grid(q, k, q_size, k_size, map, columns);
    const PlanePtr kept = combine(Op::kAnd, blocks, clip.plane);
    const PlanePtr left = combine(Op::kSub, blocks, clip.plane);
    for (const auto& [plane, want] : {std::pair(kept, zip(Op::kAnd, grid, clip.dense)),
                                      std::pair(left, zip(Op::kSub, grid, clip.dense))}) {
      if (first.empty()) first = check_tiles_and_reading(*plane, want, 13, random);
    }
  }
  REQUIRE(first == "");
}

TEST_CASE("planes that clip the same lists differently combine as their cells do") {
  std::mt19937 random(12);
  std::string first;
  for (int round = 0; round < 300 && first.empty(); ++round) {
    const Index q = 1 + static_cast<Index>(random() % 12);
    const Index k = 1 + static_cast<Index>(random() % 30);
    const std::int32_t lists = 1 + static_cast<std::int32_t>(random() % 3);
    const auto of_queries = interleaved(q, lists, 2, random);
    const auto of_keys = interleaved(k, lists, 4, random);
    const auto clip = [&] {
      const auto begin = static_cast<std::int32_t>(random() % static_cast<unsigned>(k + 1));
      const auto rest = static_cast<unsigned>(k + 1 - begin);
      return Run{begin, begin + static_cast<std::int32_t>(random() % rest)};
    };
    // In half of the rounds, b clips each row to all keys from the begin of a's clip on, so that a
    // combined row has one clip again. In the others, clips are random, and a combined row may need
    // several.
    const bool alike = round % 2 == 0;
    ClippedClasses a{of_queries, of_keys, {}, lists}, b{of_queries, of_keys, {}, lists};
    for (Index row = 0; row < q; ++row) {
      a.clip.push_back(clip());
      b.clip.push_back(alike ? Run{a.clip.back().begin, static_cast<std::int32_t>(k)} : clip());
    }
    const auto twin = [&](const ClippedClasses& classes) {
      return matrix(q, k, [&](Index i, Index j) {
        const Run& keys = classes.clip[static_cast<std::size_t>(i)];
        const bool same =
            of_queries[static_cast<std::size_t>(i)] == of_keys[static_cast<std::size_t>(j)];
        return same && j >= keys.begin && j < keys.end;
      });
    };
    for (const Op op : {Op::kAnd, Op::kOr, Op::kXor, Op::kSub}) {
      if (!first.empty()) break;
      const PlanePtr plane = combine(op, plane_of(a), plane_of(b));
      first = check_reading(*plane, zip(op, twin(a), twin(b)), random, 4);
      if (alike && op != Op::kOr) CHECK(plane->has_row_index());
    }
  }
  REQUIRE(first == "");
}

TEST_CASE("counts of list keys beyond 2^32 are right") {
  const auto n = std::numeric_limits<std::int32_t>::max();
  const std::vector<Run> list{{0, n / 2}, {n / 2 + 1, n}};
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  std::vector<RowRef> refs;
  for (std::uint32_t i = 0; i < 6; ++i) {
    runs.insert(runs.end(), list.begin(), list.end());
    offsets.push_back(std::ssize(runs));
    refs.push_back({i, 0, n});
  }
  const PlanePtr plane = row_lists(n, std::move(runs), std::move(offsets), std::move(refs));
  CHECK(plane->count() == 6 * (Index{n} - 1));
  const std::vector<Index> edges{0, 10, n - 5, n};
  std::vector<Index> counts(3);
  plane->counts({0, 6}, edges, counts);
  CHECK(counts == std::vector<Index>{6 * 10, 6 * (Index{n} - 16), 6 * 5});
  plane->row_sizes({0, 6}, [&](Range, const Plane::RowSize& size) {
    CHECK(size.keys == Index{n} - 1);
    CHECK(size.runs == 2);
  });
}

/// Lists of keys, one for each query: single keys, ranges or both.
std::vector<Run> drawn_list(Index keys, std::mt19937& random) {
  const auto below = [&](Index most) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(most));
  };
  std::vector<Run> out;
  const std::int32_t most = random() % 3 == 0 ? below(keys) + 1 : 1;
  for (std::int32_t at = below(keys + 1); at < keys; at += 2 + below(1 + keys / 4)) {
    const std::int32_t end = std::min(static_cast<std::int32_t>(keys), at + 1 + below(most));
    out.push_back({at, end});
    at = end;
  }
  return out;
}

TEST_CASE("rows with lists of their own equal the twin, as do the keys that some of them see") {
  std::mt19937 random(29);
  for (int round = 0; round < test::rounds(200); ++round) {
    const Index q = 1 + static_cast<Index>(random() % 90),
                k = 1 + static_cast<Index>(random() % 700);
    std::vector<Run> runs;
    std::vector<Index> offsets{0};
    std::vector<RowRef> refs;
    for (Index row = 0; row < q; ++row) {
      const std::vector<Run> list = drawn_list(k, random);
      runs.insert(runs.end(), list.begin(), list.end());
      offsets.push_back(std::ssize(runs));
      const bool clipped = random() % 4 == 0;
      const auto begin = static_cast<std::int32_t>(clipped ? k / 3 : 0);
      refs.push_back({static_cast<std::uint32_t>(row), begin, static_cast<std::int32_t>(k)});
    }
    const PlanePtr plane = row_lists(k, runs, offsets, refs);
    const Dense want = matrix(q, k, [&](Index i, Index j) {
      const auto list = std::span(runs).subspan(
          as_size(offsets[as_size(i)]), as_size(offsets[as_size(i) + 1] - offsets[as_size(i)]));
      return j >= refs[as_size(i)].begin && std::ranges::any_of(list, [j](const Run& run) {
               return run.begin <= j && j < run.end;
             });
    });
    INFO("round " << round << ": " << q << " x " << k);
    REQUIRE(check_tiles_and_reading(*plane, want, 1 + static_cast<Index>(random() % 64), random) ==
            "");
    std::vector<std::uint64_t> seen(as_size(words_for(k)));
    const Range rows = some_range(q, random);
    plane->mark_seen(rows, seen);
    for (Index key = 0; key < k; ++key) {
      const bool is_seen = (seen[as_size(key / 64)] >> (key % 64) & 1) != 0;
      REQUIRE(is_seen == (count(want, rows, {key, key + 1}) > 0));
    }
  }
}

TEST_CASE("rows that share one list have full tiles") {
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

TEST_CASE("a tile is not full if one of its rows sees nothing") {
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

TEST_CASE("tiles that lists cache for later calls count as their memory") {
  std::vector<Run> runs;
  for (std::int32_t k = 0; k < 4000; k += 2) runs.push_back({k, k + 1});
  std::vector<RowRef> refs(64, RowRef{0, 0, 4000});
  const PlanePtr plane = row_lists(4000, runs, {0, 2000}, refs);
  const Index before = plane->bytes();
  std::vector<TileRun> out;
  plane->tiles({0, 64}, 64, out);
  CHECK(plane->bytes() > before);
}

}  // namespace
}  // namespace maskctl::twin
