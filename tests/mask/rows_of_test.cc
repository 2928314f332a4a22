// rows_of(), which picks rows out of masks, against the cells of a dense twin.
#include "maskctl/mask/mask.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"

using namespace maskctl;

TEST_CASE("rows_of gives the picked rows for every kind of plane") {
  std::mt19937 random(3);
  const auto pick = twin::pick_from(random);
  for (int kind = 0; kind < twin::kLeaves; ++kind) {
    CAPTURE(kind);
    const auto [plane, dense] = twin::make_leaf(static_cast<twin::Leaf>(kind), pick, 90, 70);
    for (const std::vector<Range>& ranges : std::vector<std::vector<Range>>{
             {{0, 90}}, {{3, 4}}, {{0, 20}, {60, 90}}, {{1, 2}, {5, 6}, {9, 50}, {88, 90}}}) {
      twin::Dense want = dense;
      want.cells.clear();
      want.q = 0;
      for (const Range& range : ranges) {
        want.q += range.size();
        want.cells.insert(want.cells.end(), dense.cells.begin() + range.begin * dense.k,
                          dense.cells.begin() + range.end * dense.k);
      }
      const Mask rows = rows_of(Mask(plane), ranges);
      CHECK(twin::check_plane(rows.plane(0, 0), want, random, 8) == "");
    }
  }
}
