// Failures: planes that throw, masks that are put together wrongly, offsets out of range.
#include <stdexcept>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"
#include "support/catch_compat.h"
#include "support/error_of.h"

using namespace maskctl;
using maskctl::test::error_of;

namespace {

/// A plane whose second row throws, as where memory or a file ends.
class Failing final : public Plane {
 public:
  Failing() : Plane(2, 64) {}
  void rows(Range q, const RowSink& sink) const override {
    const Run all{0, 64};
    Keys keys;
    keys.runs = std::span(&all, 1);
    sink({q.begin, q.begin + 1}, keys);
    throw std::runtime_error("no more rows");
  }
  PlanePtr sliced(Range, Range) const override { throw std::logic_error("not asked for"); }
  Index bytes() const override { return 0; }
};

/// A plane whose rows() reads the tiles of another plane between its first row and its second.
class Asking final : public Plane {
 public:
  explicit Asking(PlanePtr other) : Plane(2, 64), other_(std::move(other)) {}
  void rows(Range q, const RowSink& sink) const override {
    const Run first{0, 16};
    Keys keys;
    keys.runs = std::span(&first, 1);
    sink({q.begin, q.begin + 1}, keys);
    std::vector<TileRun> tiles;
    other_->Plane::tiles({0, 2}, 16, tiles);
    sink({q.begin + 1, q.end}, keys);
  }
  PlanePtr sliced(Range, Range) const override { throw std::logic_error("not asked for"); }
  Index bytes() const override { return 0; }

 private:
  PlanePtr other_;
};

std::vector<TileRun> tiles_of(const Plane& plane) {
  std::vector<TileRun> out;
  plane.Plane::tiles({0, 2}, 16, out);
  return out;
}

}  // namespace

TEST_CASE("tiles: an exception in the rows of one plane does not affect the next call") {
  const PlanePtr empty = empty_plane(2, 64);
  REQUIRE(tiles_of(*empty).empty());
  CHECK_THROWS_AS(tiles_of(Failing()), std::runtime_error);
  CHECK(tiles_of(*empty).empty());
}

TEST_CASE("tiles: the rows of a plane may ask for the tiles of another plane") {
  const std::vector<TileRun> seen = tiles_of(Asking(full_plane(2, 64)));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].first == 0);
  CHECK(seen[0].count == 1);
  CHECK(seen[0].fill == Fill::kFull);
}

TEST_CASE("mask: wrong numbers of planes are refused") {
  const PlanePtr plane = full_plane(2, 3);
  CHECK(error_of([&] {
          Mask(2, 2, {plane}, {0, 0, 0});
        }) ==
        "a mask of 2 batches and 2 heads with 3 numbers of planes: expected one for each batch and "
        "head");
  CHECK(error_of([&] { Mask(1, 2, {plane}, {0, 1}); }) == "plane number 1 of 1 planes");
  CHECK(error_of([&] { Mask(1, 1, {nullptr}, {0}); }) == "a plane of a mask is null");
  CHECK_THROWS_AS(Mask(-1, -1, {plane}, {0}), Error);
}

TEST_CASE("window: an offset out of range is refused for any sides") {
  step::Window rule;
  rule.left = 3;
  rule.right = 0;
  for (const Index offset : {INT64_MAX, INT64_MIN, kUnbounded + 1}) {
    rule.offset = offset;
    CHECK(error_of([&] { apply(Mask(full_plane(4, 4)), {Step{rule}}); }).find("is out of range") !=
          std::string::npos);
  }
}
