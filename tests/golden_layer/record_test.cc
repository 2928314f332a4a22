// Records, which describe a golden mask by a pipeline or by its rows: written, read back, and
// refused when wrong.
#include "maskctl/golden/record.h"

#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

Mask random_mask(std::mt19937& random, const std::vector<Index>& shape, unsigned percent) {
  Tensor cells(DType::kBool, shape);
  for (std::uint8_t& cell : cells.as<std::uint8_t>()) cell = random() % 100 < percent ? 1 : 0;
  return mask_from_dense(cells);
}

TEST_CASE("a record stores a mask of any size as a pipeline", "[golden]") {
  const Index n = Index{1} << 20;
  const Mask mask(diagonal_band(n, n, -4095, 0));
  const GoldenRecord record = record_of(mask);
  CHECK(record.pipeline);
  CHECK(record.rows.empty());
  CHECK(record.open == mask.count());
  CHECK(record.shape == std::array<Index, 4>{1, 1, n, n});
  const auto again = recorded_mask(record);
  REQUIRE(again);
  CHECK(differing_cells(*again, mask) == 0);
}

TEST_CASE("a record lists the cells that its pipeline misses, by batch and head", "[golden]") {
  const Index n = 3000;
  const PlanePtr band = diagonal_band(n, n, -99, 0);
  const Mask lone(rectangle(n, n, {2000, 2001}, {7, 8}));
  const Mask hole(rectangle(n, n, {1500, 1501}, {1490, 1491}));
  const PlanePtr leaked = zip(Op::kSub, zip(Op::kOr, Mask(band), lone), hole).plane(0, 0);
  for (const Mask& mask : {Mask(leaked), Mask(2, 2, {band, leaked}, {0, 0, 1, 0})}) {
    const GoldenRecord record = record_of(mask);
    REQUIRE(record.pipeline);
    const auto again = recorded_mask(record);
    REQUIRE(again);
    CHECK(differing_cells(*again, mask) == 0);
  }
}

TEST_CASE("a record lists the rows of a small mask that no pipeline makes", "[golden]") {
  std::mt19937 random(7);
  const int cases = test::rounds(40);
  for (int i = 0; i < cases; ++i) {
    const Index batch = 1 + random() % 3, heads = 1 + random() % 3;
    const Index queries = 1 + random() % 12, keys = 1 + random() % 70;
    const Mask mask = random_mask(random, {batch, heads, queries, keys}, random() % 101);
    const GoldenRecord record = record_of(mask);
    INFO("case " << i);
    CHECK(record.open == mask.count());
    const auto again = recorded_mask(record);
    if (record.rows.empty() && !record.pipeline) {
      CHECK(mask.count() == 0);
      continue;
    }
    REQUIRE(again);
    CHECK(differing_cells(*again, mask) == 0);
  }
}

TEST_CASE("the rows of a record are read back as the mask; equal planes are listed once",
          "[golden]") {
  GoldenRecord record{.shape = {1, 3, 4, 6}, .open = 0, .pipeline = {}, .rows = {}};
  record.rows = {"batch 0, head 0", "0: 0-1+5", "2-3: 3", "batch 0, head 1",
                 "batch 0, head 2 as batch 0, head 0"};
  const auto mask = recorded_mask(record);
  REQUIRE(mask);
  CHECK(mask->plane(0, 0)->count() == 5);
  CHECK(mask->plane(0, 1)->count() == 0);
  CHECK(mask->plane(0, 2)->count() == 5);
  CHECK(mask->plane(0, 0)->count({0, 1}, {5, 6}) == 1);
  CHECK(mask->plane(0, 0)->count({1, 2}, {0, 6}) == 0);
  CHECK(mask->plane(0, 0)->count({2, 4}, {3, 4}) == 2);
}

TEST_CASE("the record of a large mask that no pipeline makes has only its shape and count",
          "[golden]") {
  std::mt19937 random(3);
  const Mask mask = random_mask(random, {1, 1, 256, 256}, 50);
  const GoldenRecord record = record_of(mask);
  CHECK_FALSE(record.pipeline);
  CHECK(record.rows.empty());
  CHECK(record.open == mask.count());
  CHECK_FALSE(recorded_mask(record));
}

TEST_CASE("text that is no record is refused", "[golden]") {
  const auto refused = [](std::array<Index, 4> shape, std::vector<std::string> rows) {
    return test::error_of([&] {
      recorded_mask({.shape = shape, .open = 0, .pipeline = {}, .rows = std::move(rows)});
    });
  };
  const std::string expected =
      "' is not a row; expected \"3: 0-1+3\", \"batch 0, head 1\" or \"batch 0, head 1 as batch 0, "
      "head 0\"";
  for (const char* line : {"", "0", "0: ", "0: 4", "0: 2-1", "0: 0+1", "0: 2+0", "4: 0", "0-4: 0",
                           "x: 0", "0: -1", "batch 0, head 1", "batch 1, head 0", "batch 0",
                           "batch 0, head 0 as batch 0, head 0", "0: 99999999999999999999"}) {
    CHECK(refused({1, 1, 4, 4}, {line}) == "'" + std::string(line) + expected);
  }
  CHECK(refused({1, 1, 4, 4}, {"1: 0", "1: 0"}) == "'1: 0" + expected);
  CHECK(refused({1, 2, 4, 4}, {"0: 0"}) == "'0: 0" + expected);
  CHECK(refused({1, 2, 4, 4}, {"batch 0, head 0"}) == "not every batch and head is listed");
  CHECK(refused({1 << 20, 1 << 20, 4, 4}, {"0: 0"}) ==
        "1048576 batches of 1048576 heads are too many");
  CHECK(refused({1, 1, Index{1} << 30, 4}, {"0: 0"}) == "rows of 1073741824 queries are too many");
  CHECK_THROWS_AS(recorded_mask({.shape = {Index{1} << 31, Index{1} << 31, 4, 4},
                                 .open = 0,
                                 .pipeline = "causal",
                                 .rows = {}}),
                  Error);
  CHECK_THROWS_AS(
      recorded_mask({.shape = {1, 1, 4, 4}, .open = 0, .pipeline = "casual", .rows = {}}), Error);
  CHECK_THROWS_AS(
      recorded_mask({.shape = {1, 1, 4, 4}, .open = 0, .pipeline = "doc:x.npy", .rows = {}}),
      Error);
}

}  // namespace
}  // namespace maskctl
