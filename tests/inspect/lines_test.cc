// What recognise and diff read off whole rows and columns, for planes of every kind, against a look
// at each cell.
#include <algorithm>
#include <numeric>

#include "inspect/random_masks.h"
#include "maskctl/inspect/diff_reason.h"
#include "maskctl/inspect/recognise_cells.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

/// f(query, key) for the open cells.
template <typename F>
void each_open(const twin::Dense& dense, F&& f) {
  for (Index q = 0; q < dense.q; ++q) {
    for (Index k = 0; k < dense.k; ++k) {
      if (dense.get(q, k)) f(static_cast<std::size_t>(q), static_cast<std::size_t>(k));
    }
  }
}

/// Less the rows and columns that are full in both.
twin::Dense slow_uncovered(const twin::Dense& a, const twin::Dense& b) {
  std::vector<Index> in_row(static_cast<std::size_t>(a.q)),
      in_column(static_cast<std::size_t>(a.k));
  each_open(twin::zip(Op::kAnd, a, b), [&](std::size_t q, std::size_t k) {
    ++in_row[q];
    ++in_column[k];
  });
  twin::Dense out = a;
  each_open(a, [&](std::size_t q, std::size_t k) {
    if (in_row[q] == a.k || in_column[k] == a.q) {
      out.set(0, 0, static_cast<Index>(q), static_cast<Index>(k), false);
    }
  });
  return out;
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
    const recognising::Touched found = recognising::touched(*plane);
    REQUIRE(found.q == q);
    REQUIRE(found.k == k);
    Index in_ranges = 0;
    for (const Range& range : recognising::ranges_of(found.k)) in_ranges += range.size();
    REQUIRE(in_ranges == std::accumulate(k.begin(), k.end(), Index{0}));
  }
}

TEST_CASE("rows and columns that are open in both masks are taken from both", "[diff]") {
  std::mt19937 random(42);
  const twin::Pick pick = twin::pick_from(random);
  int covered = 0;
  for (int n = 0; n < 600; ++n) {
    const Index queries = pick(1, 24), keys = pick(1, 24);
    const auto some = [&] {
      auto leaf =
          twin::make_leaf(static_cast<twin::Leaf>(pick(2, twin::kLeaves - 1)), pick, queries, keys);
      const Range q{pick(0, queries), queries}, k{0, pick(0, keys)};
      const auto add = [&](Range rows, Range columns) {
        leaf.plane = combine(Op::kOr, leaf.plane, rectangle(queries, keys, rows, columns));
        leaf.dense = twin::zip(
            Op::kOr, leaf.dense, twin::matrix(queries, keys, [&](Index i, Index j) {
              return rows.begin <= i && i < rows.end && columns.begin <= j && j < columns.end;
            }));
      };
      if (pick(0, 1)) add(q, {0, keys});
      if (pick(0, 1)) add({0, queries}, k);
      return leaf;
    };
    const auto a = some(), b = some();
    const auto rest = uncovered(pair_of(a.plane, b.plane));
    const twin::Dense in_a = slow_uncovered(a.dense, b.dense),
                      in_b = slow_uncovered(b.dense, a.dense);
    covered += rest.has_value();
    REQUIRE(rest.has_value() == (in_a.cells != a.dense.cells));
    if (!rest) continue;
    REQUIRE(twin::dense_of(*rest->a).cells == in_a.cells);
    REQUIRE(twin::dense_of(*rest->b).cells == in_b.cells);
  }
  REQUIRE(covered > 100);
}
