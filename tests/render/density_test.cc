// Counts per rectangle, and the density rule.
#include "maskctl/render/figure/density.h"

#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/render/text/draw.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {

TEST_CASE("density counts every rectangle, the last ones smaller", "[density]") {
  std::mt19937 random(3);
  const auto dense = twin::matrix(37, 53, [&](Index, Index) { return random() % 3 == 0; });
  const PlanePtr plane = twin::plane_of_matrix(dense);
  for (const auto& [q_step, k_step] : {std::pair<Index, Index>{1, 1}, {4, 7}, {37, 53}, {64, 3}}) {
    for (const auto& [q, k] : {std::pair<Range, Range>{{0, 37}, {0, 53}}, {{5, 30}, {11, 12}}}) {
      const DensityGrid grid = density(*plane, q, k, q_step, k_step);
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

TEST_CASE("density refuses steps below one and grids that do not fit into memory", "[density]") {
  const PlanePtr plane = full_plane(1000000, 1000000);
  CHECK_THROWS_AS(density(*plane, 0, 1), Error);
  CHECK_THROWS_AS(density(*plane, 1, -1), Error);
  CHECK_THROWS_AS(density(*plane, 1, 1), Error);
  CHECK(density(*empty_plane(0, 5), 1, 1).open.empty());
}

TEST_CASE("density levels never round none or all", "[density]") {
  CHECK(density_level(0, 9) == 0);
  CHECK(density_level(1, 9) == 1);
  CHECK(density_level(2, 9) == 1);
  CHECK(density_level(3, 9) == 2);
  CHECK(density_level(5, 9) == 2);
  CHECK(density_level(6, 9) == 3);
  CHECK(density_level(8, 9) == 3);
  CHECK(density_level(9, 9) == 4);
  const Index most = Index{2147483647} * 2147483647;
  CHECK(density_level(1, most) == 1);
  CHECK(density_level(most - 1, most) == 3);
  CHECK(density_level(most, most) == 4);
}

TEST_CASE("density colours keep none and all for themselves", "[density]") {
  for (Palette palette : {Palette::kCividis, Palette::kViridis, Palette::kGrey}) {
    const Index area = 1000003;
    const auto none = density_color(palette, 0, area), all = density_color(palette, area, area);
    CHECK(none != all);
    for (Index open : {Index{1}, area / 3, area / 2, area - 1}) {
      CHECK(density_color(palette, open, area) != none);
      CHECK(density_color(palette, open, area) != all);
    }
  }
}

}  // namespace maskctl
