// The segment ids of a mask, against a comparison of every row with every row.
#include "maskctl/mask/arrays/segment_ids.h"

#include <random>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using Ids = std::vector<std::int32_t>;

/// ejkernel's ids of rows, cell by cell: equal rows have equal ids, empty rows -1.
Ids slow_row_classes(const twin::Dense& dense) {
  const auto equal = [&](Index a, Index b) {
    for (Index k = 0; k < dense.k; ++k) {
      if (dense.get(a, k) != dense.get(b, k)) return false;
    }
    return true;
  };
  Ids ids;
  std::int32_t next = 0;
  for (Index q = 0; q < dense.q; ++q) {
    Index first = 0;
    while (!equal(first, q)) ++first;
    if (twin::count(dense, {q, q + 1}, {0, dense.k}) == 0) {
      ids.push_back(-1);
    } else {
      ids.push_back(first < q ? ids[static_cast<std::size_t>(first)] : next++);
    }
  }
  return ids;
}

}  // namespace

TEST_CASE("segment ids of rows and of columns are numbered separately, by first appearance",
          "[segment_ids]") {
  const auto dense = twin::matrix(4, 3, [](Index q, Index k) { return q != 1 && k == q % 2 + 1; });
  const auto [q, k] = segment_ids_of_mask(*twin::plane_of_matrix(dense));
  CHECK(q == Ids{0, -1, 0, 1});
  CHECK(k == Ids{-1, 0, 1});
}

TEST_CASE("segment ids of a causal mask differ in every row and column", "[segment_ids]") {
  const auto [q, k] = segment_ids_of_mask(*diagonal_band(4, 4, -kUnbounded, 0));
  CHECK(q == Ids{0, 1, 2, 3});
  CHECK(k == Ids{0, 1, 2, 3});
}

TEST_CASE("segment ids of random masks equal a comparison of all pairs of rows", "[segment_ids]") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Index queries = random() % 12, keys = random() % 9;
    const unsigned percent = random() % 101;
    const auto dense =
        twin::matrix(queries, keys, [&](Index, Index) { return random() % 100 < percent; });
    const auto [q, k] = segment_ids_of_mask(*twin::plane_of_matrix(dense));
    REQUIRE(q == slow_row_classes(dense));
    REQUIRE(k == slow_row_classes(twin::transposed(dense)));
  }
}

TEST_CASE("segment ids of large masks equal a comparison of all pairs, however rows are stored",
          "[segment_ids]") {
  std::mt19937 random(13);
  const auto check = [](const twin::Dense& dense, const PlanePtr& plane) {
    const auto [q, k] = segment_ids_of_mask(*plane);
    CHECK(q == slow_row_classes(dense));
    CHECK(k == slow_row_classes(twin::transposed(dense)));
  };
  for (int round = 0; round < 12; ++round) {
    const Index queries = 1 + random() % 700, keys = 1 + random() % 700;
    Ids a(static_cast<std::size_t>(queries)), b(static_cast<std::size_t>(keys));
    for (auto& id : a) id = static_cast<int>(random() % 9) - 1;
    for (auto& id : b) id = static_cast<int>(random() % 9) - 1;
    const auto ids = twin::matrix(queries, keys, [&](Index q, Index k) {
      return a[static_cast<std::size_t>(q)] >= 0 &&
             a[static_cast<std::size_t>(q)] == b[static_cast<std::size_t>(k)];
    });
    check(ids, equal_ids(a, b, -1, Side::kBoth));
    check(ids, twin::plane_of_matrix(ids));
    // Many columns are equal, and equal ones lie apart.
    const auto repeated = twin::matrix(queries, keys, [&](Index q, Index k) {
      const auto seed = static_cast<unsigned>(b[static_cast<std::size_t>(k)] * 7919 + q * 104729);
      return (seed * 2654435761u >> 17 & 1) != 0;
    });
    check(repeated, twin::plane_of_matrix(repeated));
    // Rows of few runs in the upper half, of many runs in the lower half.
    const auto mixed = twin::matrix(queries, keys, [&](Index q, Index k) {
      return q < queries / 2 ? k <= q / 3 : (q * 31 + k * 17) % 5 < 2;
    });
    check(mixed, twin::plane_of_matrix(mixed));
    const auto computed =
        twin::matrix(queries, keys, [&](Index q, Index k) { return (k - q + 700) % 7 == 0; });
    check(computed, dilated(queries, keys, 7, 0));
  }
}

TEST_CASE("segment ids of classes that rows see fully or partly equal a comparison of all pairs",
          "[segment_ids]") {
  std::mt19937 random(17);
  const auto below = [&](Index n) { return static_cast<std::int32_t>(random() % n); };
  for (int round = 0; round < 600; ++round) {
    const Index queries = 1 + below(12), keys = 1 + below(20);
    const auto all = static_cast<std::int32_t>(keys);
    ClippedClasses classes;
    classes.count = 1 + below(4);
    for (Index key = 0; key < keys; ++key) classes.k.push_back(below(classes.count + 1) - 1);
    for (Index row = 0; row < queries; ++row) {
      classes.q.push_back(below(classes.count + 1) - 1);
      const std::int32_t begin = below(keys + 1);
      const Run clips[] = {{0, all}, {begin, begin}, {begin, all}, {0, begin}};
      classes.clip.push_back(clips[round % 3 == 0 ? 0 : round % 3 == 1 ? below(2) : below(4)]);
    }
    const auto dense = twin::matrix(queries, keys, [&](Index q, Index k) {
      const auto row = static_cast<std::size_t>(q);
      return classes.q[row] >= 0 && classes.q[row] == classes.k[static_cast<std::size_t>(k)] &&
             k >= classes.clip[row].begin && k < classes.clip[row].end;
    });
    const auto [q, k] = segment_ids_of_mask(*plane_of(classes));
    REQUIRE(q == slow_row_classes(dense));
    REQUIRE(k == slow_row_classes(twin::transposed(dense)));
  }
}

TEST_CASE("segment ids of equal rows are equal, whether stored as runs or words", "[segment_ids]") {
  std::mt19937 random(11);
  twin::Dense dense = twin::matrix(60, 200, [&](Index, Index) { return random() % 2 == 0; });
  for (Index k = 0; k < 200; ++k) dense.set(41, k, dense.get(3, k));
  const auto fill = [&](Range q, std::span<std::uint64_t> words) {
    std::fill(words.begin(), words.end(), 0);
    for (Index i = q.begin; i < q.end; ++i) {
      for (Index k = 0; k < 200; ++k) {
        const auto at = static_cast<std::size_t>((i - q.begin) * 4 + k / 64);
        words[at] |= std::uint64_t{dense.get(i, k)} << (k % 64);
      }
    }
  };
  const auto [q, k] = segment_ids_of_mask(*stored_rows(60, 200, true, fill));
  CHECK(q == slow_row_classes(dense));
  CHECK(q[41] == q[3]);
  CHECK(k == slow_row_classes(twin::transposed(dense)));
}

}  // namespace maskctl
