// Counts of open cells per rectangle, and the shades that stand for their share.
#include "maskctl/render/figure/density.h"

#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {

TEST_CASE("density counts the open cells of every rectangle, also of smaller ones at the end",
          "[density]") {
  std::mt19937 random(3);
  const auto dense = twin::matrix(37, 53, [&](Index, Index) { return random() % 3 == 0; });
  const PlanePtr plane = twin::plane_of_matrix(dense);
  for (const auto& [q_step, k_step] : {std::pair<Index, Index>{1, 1}, {4, 7}, {37, 53}, {64, 3}}) {
    for (const auto& [q, k] : {std::pair<Range, Range>{{0, 37}, {0, 53}}, {{5, 30}, {11, 12}}}) {
      const DensityGrid grid = density(*plane, grid_shape(q, k, {q_step, k_step}));
      REQUIRE(grid.rows == ceil_div(q.size(), q_step));
      REQUIRE(grid.columns == ceil_div(k.size(), k_step));
      Index area = 0;
      for (Index r = 0; r < grid.rows; ++r) {
        for (Index c = 0; c < grid.columns; ++c) {
          REQUIRE(grid.at(r, c) == twin::count(dense, grid.queries(r), grid.keys(c)));
          area += grid.area(r, c);
        }
      }
      CHECK(area == q.size() * k.size());
      CHECK(grid.total() == twin::count(dense, q, k));
    }
  }
}

TEST_CASE("density of a mask of a million tokens is exact", "[density]") {
  const Index n = 1000000;
  const DensityGrid grid = density(*diagonal_band(n, n, -kUnbounded, 0), 250000, 250000);
  CHECK(grid.total() == n * (n + 1) / 2);
  CHECK(grid.at(2, 1) == 62500000000);
  CHECK(grid.at(1, 1) == Index{250000} * 250001 / 2);
  CHECK(grid.at(0, 1) == 0);
}

TEST_CASE("density refuses steps below one, and grids that do not fit into memory", "[density]") {
  const PlanePtr plane = full_plane(1000000, 1000000);
  CHECK_THROWS_AS(density(*plane, 0, 1), Error);
  CHECK_THROWS_AS(density(*plane, 1, -1), Error);
  CHECK_THROWS_AS(density(*plane, 1, 1), Error);
  CHECK(density(*empty_plane(0, 5), 1, 1).open.empty());
}

TEST_CASE("fitting blocks are square, unless an axis would get too few of them", "[density]") {
  CHECK(fitting_block(64, 64, 64, 64, 8) == BlockSize{1, 1});
  CHECK(fitting_block(65, 64, 64, 64, 8) == BlockSize{2, 2});
  CHECK(fitting_block(300, 300, 40, 40, 8) == BlockSize{8, 8});
  CHECK(fitting_block(300, 300, 25, 40, 8) == BlockSize{12, 12});
  CHECK(fitting_block(10, 6400, 64, 64, 8) == BlockSize{1, 128});
  CHECK(fitting_block(100, 6400, 64, 64, 8) == BlockSize{8, 128});
}

}  // namespace maskctl
