// Segment ids of a mask against a comparison of every row with every row.
#include "maskctl/mask/segment_ids.h"

#include <random>

#include "maskctl/mask/bands.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using Ids = std::vector<std::int32_t>;

/// The rule of ejkernel, cell by cell.
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

TEST_CASE("segment ids number rows and columns apart by first appearance", "[segment_ids]") {
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

TEST_CASE("segment ids of random masks agree with the pairwise rule", "[segment_ids]") {
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

TEST_CASE("segment ids see through runs and words", "[segment_ids]") {
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
