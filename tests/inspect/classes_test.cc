// Tests classes (sets of queries and keys that open cells connect) of planes stored as runs,
// against classes joined cell by cell.
#include "maskctl/inspect/recognise/classes.h"

#include <numeric>
#include <random>

#include "maskctl/inspect/recognise/small_cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/rows.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

/// A plane whose rows have at most three random runs, often none.
PlanePtr random_runs(std::mt19937_64& random, Index queries, Index keys) {
  const auto below = [&random](Index n) {
    return std::uniform_int_distribution<Index>(0, n - 1)(random);
  };
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  std::vector<RowRef> refs;
  for (Index row = 0; row < queries; ++row) {
    Index at = below(keys);
    for (Index n = below(4); n > 0 && at < keys; --n) {
      const Index end = std::min(keys, at + 1 + below(3));
      runs.push_back({static_cast<std::int32_t>(at), static_cast<std::int32_t>(end)});
      at = end + 1 + below(4);
    }
    offsets.push_back(static_cast<Index>(runs.size()));
    refs.push_back({static_cast<std::uint32_t>(row), 0, static_cast<std::int32_t>(keys)});
  }
  return row_lists(keys, std::move(runs), std::move(offsets), std::move(refs));
}

/// For each node, the smallest node that it is connected with by open cells. The nodes are the
/// queries and then the keys; if `shared`, query i and key i are one node.
std::vector<Index> slow_classes(const Plane& plane, bool shared) {
  const Index first_key = shared ? 0 : plane.queries();
  std::vector<Index> of(static_cast<std::size_t>(first_key + plane.keys()));
  std::iota(of.begin(), of.end(), 0);
  for (Index q = 0; q < plane.queries(); ++q) {
    for (Index k = 0; k < plane.keys(); ++k) {
      if (plane.count({q, q + 1}, {k, k + 1}) == 0) continue;
      const Index a = of[static_cast<std::size_t>(q)];
      const Index b = of[static_cast<std::size_t>(first_key + k)];
      std::ranges::replace(of, std::max(a, b), std::min(a, b));
    }
  }
  return of;
}

}  // namespace

namespace {

void check_classes(const PlanePtr& plane, Index size) {
  for (const bool shared : {true, false}) {
    const recognition::Classes found = recognition::connected(*plane, shared);
    const auto q = recognition::ids_of(found.q, size, 0, -1);
    const auto k = recognition::ids_of(found.k, size, 0, -1);
    const std::vector<Index> of = slow_classes(*plane, shared);
    for (Index i = 0; i < size; ++i) {
      for (Index j = 0; j < size; ++j) {
        const bool together =
            of[static_cast<std::size_t>(i)] == of[static_cast<std::size_t>(shared ? j : size + j)];
        const auto id = q[static_cast<std::size_t>(i)];
        const bool seen = id >= 0 && id == k[static_cast<std::size_t>(j)];
        // A token without any open cell is in no class.
        if (shared && i == j && id < 0) continue;
        REQUIRE(seen == together);
      }
    }
  }
}

}  // namespace

TEST_CASE("classes of planes stored as runs equal those joined cell by cell", "[recognise]") {
  std::mt19937_64 random(17);
  for (int n = 0; n < 300; ++n) {
    const Index size = std::uniform_int_distribution<Index>(1, 24)(random);
    check_classes(random_runs(random, size, size), size);
  }
}

TEST_CASE("small planes in words have the cells and classes of planes", "[recognise]") {
  using recognition::SmallCells;
  std::mt19937_64 random(19);
  for (int n = 0; n < 300; ++n) {
    const auto pick = [&](Index low, Index high) {
      return std::uniform_int_distribution<Index>(low, high)(random);
    };
    const Index size = pick(1, n % 3 == 0 ? 140 : 24);
    const PlanePtr plane = random_runs(random, size, size), other = random_runs(random, size, size);
    const SmallCells small(*plane);
    for (const bool shared : {true, false}) {
      REQUIRE(small.connected(shared) == recognition::connected(*plane, shared));
      const recognition::Classes classes = recognition::connected(*other, shared);
      const PlanePtr both = combine(Op::kAnd, plane, recognition::plane_of(classes, size, size));
      REQUIRE(small.meet(classes) == (both->count() > 0));
    }
    const recognition::Diagonals band{pick(-size, size), pick(-size, size)};
    const PlanePtr rest = combine(Op::kSub, plane, diagonal_band(size, size, band.low, band.high));
    REQUIRE(small.outside(band).words == SmallCells(*rest).words);
  }
}

TEST_CASE("classes of bands are the cells joined one by one", "[recognise]") {
  std::mt19937_64 random(18);
  for (int n = 0; n < 40; ++n) {  // from sparse planes to dense ones
    const Index size = n % 2 == 0 ? 150 : 20 + n;
    const auto at = [&] { return std::uniform_int_distribution<Index>(0, size)(random); };
    PlanePtr plane = empty_plane(size, size);
    for (int i = 0; i < 1 + n % 5; ++i) {
      const Index q = at(), k = at(), length = 1 + at() / 8;
      const PlanePtr part = rectangle(size, size, intersect({q, q + length}, {0, size}),
                                      intersect({k, k + length}, {0, size}));
      const Index low = at() - size / 2;
      plane = combine(
          Op::kOr, plane,
          i % 2 == 0
              ? part
              : combine(Op::kAnd, diagonal_band(size, size, low, low + n % 3),
                        rectangle(size, size, intersect({q, q + length}, {0, size}), {0, size})));
    }
    check_classes(plane, size);
  }
}
