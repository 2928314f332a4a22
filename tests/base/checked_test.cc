// Tests of arithmetic on sizes that detects overflow.
#include "maskctl/base/checked.h"

#include <limits>
#include <vector>

#include "support/catch_compat.h"

using namespace maskctl;

namespace {

constexpr Index kMax = std::numeric_limits<Index>::max();

std::optional<Index> product(const std::vector<Index>& extents) { return checked_product(extents); }

}  // namespace

TEST_CASE("checked products and sums return nothing on overflow") {
  CHECK(checked_mul(kMax, 1) == kMax);
  CHECK_FALSE(checked_mul(kMax, 2));
  CHECK(checked_add(kMax, 0) == kMax);
  CHECK_FALSE(checked_add(kMax, 1));
}

TEST_CASE("a zero extent does not hide an overflow of the other extents") {
  CHECK(product({}) == 1);
  CHECK(product({3, 4}) == 12);
  CHECK(product({0, kMax}) == 0);
  CHECK_FALSE(product({0, kMax, kMax}));
  CHECK_FALSE(product({4294967296, 4294967296}));
  CHECK_FALSE(product({-1}));
  CHECK_FALSE(product({0, -1}));
}

TEST_CASE("floor_div rounds down and ceil_div up") {
  CHECK(floor_div(-1, 4) == -1);
  CHECK(floor_div(-4, 4) == -1);
  CHECK(floor_div(7, 4) == 1);
  CHECK(ceil_div(8, 4) == 2);
  CHECK(ceil_div(9, 4) == 3);
}
