// The statistics of masks, against a count of every cell.
#include "maskctl/inspect/count/stats.h"

#include <algorithm>

#include "inspect/counted_cells.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using test::CountedCells;
using test::irregular_mask;

struct SlowRows {
  std::vector<Index> lengths;
  Index empty_columns = 0;
};

void add_rows(const CountedCells& cells, Index plane, SlowRows& rows) {
  for (Index q = 0; q < cells.queries; ++q) rows.lengths.push_back(cells.in_row(plane, q));
  for (Index k = 0; k < cells.keys; ++k) {
    rows.empty_columns += cells.count(plane, {0, cells.queries}, {k, k + 1}) == 0;
  }
}

void check_rows(const PlaneStats& stats, SlowRows rows, Index keys) {
  auto& lengths = rows.lengths;
  std::sort(lengths.begin(), lengths.end());
  Index open = 0;
  for (const Index length : lengths) open += length;
  CHECK(stats.open == open);
  CHECK(stats.rows == static_cast<Index>(lengths.size()));
  CHECK(stats.empty_rows == std::count(lengths.begin(), lengths.end(), 0));
  CHECK(stats.full_rows == std::count(lengths.begin(), lengths.end(), keys));
  CHECK(stats.min_keys == lengths.front());
  CHECK(stats.max_keys == lengths.back());
  const std::size_t n = lengths.size();
  CHECK(stats.median_keys == static_cast<double>(lengths[(n - 1) / 2] + lengths[n / 2]) / 2);
  REQUIRE(stats.empty_columns.has_value());
  CHECK(*stats.empty_columns == rows.empty_columns);
}

void check_block(const BlockStats& fast, const BlockStats& slow) {
  CHECK(fast.empty == slow.empty);
  CHECK(fast.partial == slow.partial);
  CHECK(fast.full == slow.full);
  CHECK(fast.executed == slow.executed);
}

void check_against_cells(const Mask& mask, std::vector<BlockSize> sizes) {
  const CountedCells cells(mask);
  const Stats stats = mask_stats(mask, sizes);
  SlowRows total;
  std::vector<BlockStats> total_blocks;
  for (const BlockSize& size : sizes) total_blocks.push_back({size, 0, 0, 0, 0});
  for (Index p = 0; p < mask.batch() * mask.heads(); ++p) {
    SlowRows rows;
    add_rows(cells, p, rows);
    add_rows(cells, p, total);
    const PlaneStats& plane = stats.planes[mask.index_of(p / mask.heads(), p % mask.heads())];
    check_rows(plane, rows, mask.keys());
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const BlockStats slow = cells.blocks(p, sizes[s]);
      check_block(plane.blocks[s], slow);
      total_blocks[s].empty += slow.empty;
      total_blocks[s].partial += slow.partial;
      total_blocks[s].full += slow.full;
      total_blocks[s].executed += slow.executed;
    }
  }
  check_rows(stats.total, total, mask.keys());
  for (std::size_t s = 0; s < sizes.size(); ++s)
    check_block(stats.total.blocks[s], total_blocks[s]);
}

const std::vector<BlockSize> kSizes = {{1, 1}, {4, 8}, {16, 16}, {7, 64}, {1000, 1000}};

TEST_CASE("stats of irregular masks equal a count of cells") {
  for (const double density : {0.0, 0.02, 0.5, 0.98, 1.0}) {
    check_against_cells(irregular_mask({2, 3, 21, 150}, density, 7), kSizes);
  }
}

TEST_CASE("stats of bands equal a count of cells") {
  check_against_cells(Mask(diagonal_band(100, 100, -kUnbounded, 0)), kSizes);
  check_against_cells(Mask(diagonal_band(40, 300, -90, 90)), kSizes);
  check_against_cells(Mask(rectangle(50, 200, {3, 9}, {10, 190})), kSizes);
  check_against_cells(Mask(empty_plane(9, 9)), kSizes);
  check_against_cells(Mask(full_plane(9, 200)), kSizes);
}

TEST_CASE("stats of block sizes in any order, some multiples of others, equal a count of cells") {
  const std::vector<BlockSize> sizes = {{64, 64}, {3, 5},  {16, 16}, {16, 16},  {6, 20},
                                        {32, 16}, {2, 64}, {48, 48}, {12, 100}, {128, 1 << 20}};
  for (const double density : {0.02, 0.5, 0.98, 1.0}) {
    check_against_cells(irregular_mask({1, 2, 150, 210}, density, 5), sizes);
  }
  check_against_cells(Mask(diagonal_band(150, 210, -kUnbounded, 0)), sizes);
  check_against_cells(Mask(rectangle(200, 190, {32, 160}, {16, 190})), sizes);
  check_against_cells(Mask(full_plane(100, 97)), sizes);
}

TEST_CASE("stats of computed planes equal a count of cells") {
  check_against_cells(Mask(dilated(60, 90, 7, 2)), kSizes);
  check_against_cells(Mask(random_plane(33, 70, prng_key(3), 0, 0.3F)), kSizes);
}

TEST_CASE("stats count equal planes once, but include all in the totals") {
  const PlanePtr causal = diagonal_band(8, 8, -kUnbounded, 0);
  const PlanePtr all = full_plane(8, 8);
  const Mask mask(2, 2, {causal, all}, {0, 0, 1, 0});
  check_against_cells(mask, kSizes);
  const Stats stats = mask_stats(mask, {});
  CHECK(stats.planes.size() == 2);
  CHECK(stats.total.open == 3 * 36 + 64);
  CHECK(stats.total.rows == 32);
}

TEST_CASE("stats of many planes, which are counted in parallel, equal a count of cells") {
  check_against_cells(irregular_mask({40, 2, 5, 12}, 0.4, 11), {{2, 4}});
}

TEST_CASE("stats of masks without cells are zero") {
  for (const auto& [queries, keys] : {std::pair<Index, Index>{0, 5}, {5, 0}, {0, 0}}) {
    const Stats stats = mask_stats(Mask(empty_plane(queries, keys)), kSizes);
    CHECK(stats.total.open == 0);
    CHECK(stats.total.rows == queries);
    CHECK(stats.total.empty_rows == queries);
    CHECK(stats.total.full_rows == 0);
    CHECK(stats.total.empty_columns == std::optional<Index>(keys));
    CHECK(stats.total.blocks[0].executed == 0);
  }
  CHECK(mask_stats(Mask(), kSizes).total.rows == 0);
}

TEST_CASE("the median of an even number of rows is between the two middle ones") {
  const Stats stats = mask_stats(Mask(diagonal_band(4, 4, -kUnbounded, 0)), {});
  CHECK(stats.total.median_keys == 2.5);
}

TEST_CASE("stats refuse block sizes below one") {
  const Mask mask(full_plane(2, 2));
  const std::vector<BlockSize> sizes = {{0, 4}};
  CHECK_THROWS_AS(mask_stats(mask, sizes), Error);
}

TEST_CASE("stats of a million rows are found without dense cells") {
  const Index n = Index{1} << 20;
  const std::vector<BlockSize> sizes = {{128, 128}};
  const Stats stats = mask_stats(Mask(diagonal_band(n, n, -4095, 0)), sizes);
  CHECK(stats.total.open == n * 4096 - 4096 * 4095 / 2);
  CHECK(stats.total.max_keys == 4096);
  CHECK(stats.total.empty_columns == std::optional<Index>(0));
  CHECK(stats.total.blocks[0].full == 31 * (n / 128) - 31 * 32 / 2);
}

}  // namespace
}  // namespace maskctl
