// Masks of dense arrays and of arrays of runs, against plain loops.
#include "maskctl/mask/arrays/dense.h"

#include <cmath>
#include <cstring>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/dtypes.h"

using namespace maskctl;

namespace {

using Cells = std::vector<std::uint8_t>;

Cells random_cells(Index n, unsigned seed, double density) {
  std::mt19937 random(seed);
  std::bernoulli_distribution open(density);
  Cells out(static_cast<std::size_t>(n));
  for (auto& cell : out) cell = open(random);
  return out;
}

Tensor bool_tensor(std::vector<Index> shape, const Cells& cells) {
  Tensor out(DType::kBool, std::move(shape));
  std::copy(cells.begin(), cells.end(), out.as<std::uint8_t>().begin());
  return out;
}

Cells cells_of(const Mask& mask) {
  const Tensor dense = dense_from_mask(mask, Index{1} << 30);
  const auto bytes = dense.as<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

Tensor int_tensor(const std::vector<std::int64_t>& values) {
  Tensor out(DType::kInt64, {static_cast<Index>(values.size())});
  std::copy(values.begin(), values.end(), out.as<std::int64_t>().begin());
  return out;
}

RunArrays run_arrays(const std::vector<std::int64_t>& indptr,
                     const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end,
                     const std::vector<std::int64_t>& shape) {
  return {int_tensor(indptr), int_tensor(begin), int_tensor(end), int_tensor(shape)};
}

Errc code_of(const RunArrays& arrays) {
  try {
    mask_from_runs(arrays);
  } catch (const Error& error) {
    INFO(error.what());
    return error.code();
  }
  FAIL("no error");
  return Errc::kDevice;
}

}  // namespace

TEST_CASE("a dense array of any dtype is read and written unchanged") {
  const DType dtype = GENERATE(from_range(test::all_dtypes()));
  const Index keys = GENERATE(1, 63, 64, 65, 200, 5000);
  CAPTURE(name(dtype), keys);
  const Cells cells = random_cells(7 * keys, static_cast<unsigned>(keys), 0.4);
  const Tensor array = astype(bool_tensor({7, keys}, cells), dtype);
  const Mask mask = mask_from_dense(array);
  CHECK(mask.batch() == 1);
  CHECK(mask.heads() == 1);
  CHECK(cells_of(mask) == cells);
}

TEST_CASE("arrays of 2, 3 and 4 axes have their batch and heads in the right places") {
  const Cells cells = random_cells(2 * 3 * 4 * 5, 1, 0.5);
  const Mask four = mask_from_dense(bool_tensor({2, 3, 4, 5}, cells));
  CHECK(shape_text(four) == "[B 2, H 3, Q 4, K 5]");
  CHECK(cells_of(four) == cells);
  const Mask three = mask_from_dense(bool_tensor({6, 4, 5}, cells));
  CHECK(shape_text(three) == "[B 6, H 1, Q 4, K 5]");
  CHECK(cells_of(three) == cells);
  const Mask two = mask_from_dense(bool_tensor({24, 5}, cells));
  CHECK(shape_text(two) == "[B 1, H 1, Q 24, K 5]");
  CHECK(cells_of(two) == cells);
}

TEST_CASE("arrays of other ranks are refused") {
  CHECK_THROWS_AS(mask_from_dense(Tensor(DType::kBool, {4})), Error);
  CHECK_THROWS_AS(mask_from_dense(Tensor(DType::kBool, {})), Error);
  CHECK_THROWS_AS(mask_from_dense(Tensor(DType::kBool, {1, 1, 1, 2, 2})), Error);
}

TEST_CASE("equal planes are stored once, different ones are not") {
  Cells cells = random_cells(4 * 70 * 70, 3, 0.5);
  const auto plane = cells.begin() + 70 * 70;
  std::copy(plane, plane + 70 * 70, cells.begin() + 3 * 70 * 70);
  const Mask mask = mask_from_dense(bool_tensor({2, 2, 70, 70}, cells));
  CHECK(mask.distinct().size() == 3);
  CHECK(mask.index_of(0, 1) == mask.index_of(1, 1));
  CHECK(cells_of(mask) == cells);
}

TEST_CASE("planes that differ in a single cell are stored separately") {
  Cells cells(2 * 8 * 8, 1);
  cells[8 * 8 + 63] = 0;
  const Mask mask = mask_from_dense(bool_tensor({2, 8, 8}, cells));
  CHECK(mask.distinct().size() == 2);
  CHECK_FALSE(same_cells(*mask.plane(0, 0), *mask.plane(1, 0)));
  CHECK(same_cells(*mask.plane(0, 0), *full_plane(8, 8)));
}

TEST_CASE("elements other than 0 are open, also NaN") {
  Tensor array(DType::kFloat32, {1, 6});
  const float values[] = {0.0F, -0.0F, 1.0F, 0.5F, NAN, -INFINITY};
  std::copy(std::begin(values), std::end(values), array.as<float>().begin());
  CHECK(cells_of(mask_from_dense(array)) == Cells{0, 0, 1, 1, 1, 1});
  CHECK(first_not_binary(DType::kFloat32, array.bytes()) == 3);
  CHECK(count_not_binary(DType::kFloat32, array.bytes()) == 3);
  CHECK(element_text(DType::kFloat32, array.bytes(), 3) == "0.5");
  CHECK(element_text(DType::kFloat32, array.bytes(), 5) == "-inf");
}

TEST_CASE("packing reports in every dtype whether all elements are 0 or 1") {
  const DType dtype = GENERATE(from_range(test::all_dtypes()));
  CAPTURE(name(dtype));
  Tensor numbers(DType::kInt64, {130});
  numbers.as<std::int64_t>()[129] = 1;
  std::vector<std::uint64_t> words(3);
  Tensor array = astype(numbers, dtype);
  CHECK(pack_elements(dtype, array.bytes(), words));
  CHECK(words == std::vector<std::uint64_t>{0, 0, 2});
  CHECK_FALSE(first_not_binary(dtype, array.bytes()));
  if (dtype == DType::kBool) {
    array.as<std::uint8_t>()[64] = 2;
  } else {
    numbers.as<std::int64_t>()[64] = 3;
    array = astype(numbers, dtype);
  }
  CHECK_FALSE(pack_elements(dtype, array.bytes(), words));
  CHECK(words == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(first_not_binary(dtype, array.bytes()) == 64);
}

TEST_CASE("expanded elements equal those of astype") {
  const DType dtype = GENERATE(from_range(test::all_dtypes()));
  CAPTURE(name(dtype));
  const Cells cells = random_cells(77, 9, 0.5);
  const Tensor expected = astype(bool_tensor({77}, cells), dtype);
  Tensor out(dtype, {77});
  expand_elements(dtype, cells, out.bytes());
  CHECK(std::memcmp(out.bytes().data(), expected.bytes().data(), out.bytes().size()) == 0);
}

TEST_CASE("rows stored as words and as runs are unpacked to the same bytes") {
  const Cells cells = random_cells(300 * 300, 5, 0.5);
  const Mask dense = mask_from_dense(bool_tensor({300, 300}, cells));
  const PlanePtr causal = diagonal_band(300, 300, -kUnbounded, 0);
  Cells rows(3 * 300);
  dense_rows(*dense.plane(0, 0), {10, 13}, rows);
  CHECK(std::equal(rows.begin(), rows.end(), cells.begin() + 10 * 300));
  dense_rows(*causal, {10, 13}, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == (i % 300 <= 10 + i / 300));
}

TEST_CASE("arrays without cells give masks without cells") {
  const std::vector<std::vector<Index>> shapes{{0, 4}, {4, 0}, {0, 2, 4, 4}, {2, 0, 4, 4}, {0, 0}};
  for (const auto& shape : shapes) {
    const Mask mask = mask_from_dense(Tensor(DType::kFloat32, shape));
    CHECK(mask.count() == 0);
    CHECK(dense_from_mask(mask, 0).elements() == 0);
  }
  CHECK_THROWS_AS(mask_from_dense(Tensor(DType::kBool, {Index{1} << 40, 1, 0, 0})), Error);
  CHECK_THROWS_AS(mask_from_dense(Tensor(DType::kBool, {1, 1, Index{1} << 30, 0})), Error);
}

TEST_CASE("a dense array beyond the limit is refused before memory is allocated") {
  const Mask huge(diagonal_band(Index{1} << 20, Index{1} << 20, 0, 0));
  CHECK_THROWS_AS(dense_from_mask(huge, Index{1} << 30), Error);
  const Mask small(full_plane(10, 10));
  CHECK_THROWS_AS(dense_from_mask(small, 99), Error);
  CHECK(dense_from_mask(small, 100).elements() == 100);
}

TEST_CASE("a mask written as runs is read back unchanged") {
  const double density = GENERATE(0.0, 0.02, 0.5, 0.98, 1.0);
  const Index keys = GENERATE(1, 64, 100, 1000);
  CAPTURE(density, keys);
  const Cells cells = random_cells(2 * 2 * 9 * keys, 7, density);
  const Mask mask = mask_from_dense(bool_tensor({2, 2, 9, keys}, cells));
  const RunArrays arrays = runs_from_mask(mask, Index{1} << 24);
  CHECK(arrays.indptr.dtype() == DType::kInt64);
  CHECK(arrays.begin.dtype() == DType::kInt32);
  CHECK(arrays.indptr.elements() == 2 * 2 * 9 + 1);
  const Mask back = mask_from_runs(arrays);
  CHECK(shape_text(back) == shape_text(mask));
  CHECK(cells_of(back) == cells);
  CHECK(back.distinct().size() == mask.distinct().size());
}

TEST_CASE("runs equal those that a plain loop over the cells finds") {
  const Cells cells = random_cells(6 * 40, 11, 0.6);
  const RunArrays arrays = runs_from_mask(mask_from_dense(bool_tensor({6, 40}, cells)), 1 << 20);
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> begin, end;
  for (std::size_t q = 0; q < 6; ++q) {
    for (std::size_t k = 0; k < 40; ++k) {
      const auto open = [&](std::size_t key) { return key < 40 && cells[q * 40 + key] != 0; };
      if (open(k) && (k == 0 || !open(k - 1))) begin.push_back(static_cast<std::int32_t>(k));
      if (open(k) && !open(k + 1)) end.push_back(static_cast<std::int32_t>(k + 1));
    }
    indptr.push_back(static_cast<std::int64_t>(begin.size()));
  }
  CHECK(as_int64(arrays.indptr, "indptr") == indptr);
  CHECK(as_int32(arrays.begin, "begin") == begin);
  CHECK(as_int32(arrays.end, "end") == end);
  CHECK(as_int64(arrays.shape, "shape") == std::vector<std::int64_t>{1, 1, 6, 40});
}

TEST_CASE("runs of a million rows are made from the few lines that describe them") {
  const Index n = Index{1} << 20;
  const Mask mask(diagonal_band(n, n, -100, 0));
  const RunArrays arrays = runs_from_mask(mask, Index{1} << 25);
  CHECK(arrays.begin.elements() == n);
  CHECK(mask_from_runs(arrays).count() == mask.count());
  CHECK_THROWS_AS(runs_from_mask(mask, Index{1} << 20), Error);
}

TEST_CASE("invalid runs are refused") {
  CHECK(mask_from_runs(run_arrays({0, 1, 2}, {0, 2}, {2, 4}, {1, 1, 2, 4})).count() == 4);
  const std::vector<RunArrays> bad{
      run_arrays({0, 2, 1, 2}, {0, 2}, {2, 4}, {1, 1, 3, 4}),  // the offsets of the rows decrease
      run_arrays({1, 1, 2}, {0, 2}, {2, 4}, {1, 1, 2, 4}),     // the offsets do not begin at 0
      run_arrays({0, 1, 3}, {0, 2}, {2, 4}, {1, 1, 2, 4}),   // the last offset is past the last run
      run_arrays({0, 1, 1}, {0, 2}, {2, 4}, {1, 1, 2, 4}),   // the second run is in no row
      run_arrays({0, 1, 2}, {0, 2}, {2}, {1, 1, 2, 4}),      // begins and ends differ in number
      run_arrays({0, 1, 2}, {0, 2}, {2, 5}, {1, 1, 2, 4}),   // a run ends after the last key
      run_arrays({0, 1, 2}, {-1, 2}, {2, 4}, {1, 1, 2, 4}),  // a run begins before key 0
      run_arrays({0, 1, 2}, {2, 2}, {2, 4}, {1, 1, 2, 4}),   // an empty run
      run_arrays({0, 2, 2}, {2, 0}, {4, 1}, {1, 1, 2, 4}),   // the runs of a row do not ascend
      run_arrays({0, 2, 2}, {0, 2}, {2, 4}, {1, 1, 2, 4}),   // two runs of a row touch
      run_arrays({0, 2, 2}, {0, 1}, {2, 4}, {1, 1, 2, 4}),   // two runs of a row overlap
      run_arrays({0, 1, 2}, {0, 2}, {2, 4}, {1, 1, 3, 4}),   // fewer rows than the shape has
      run_arrays({0, 1, 2}, {0, 2}, {2, 4}, {1, 2, 4}),      // a shape of three extents
      run_arrays({0, 1, 2}, {0, 2}, {2, 4}, {1, -1, -2, 4}),        // negative extents
      run_arrays({0, 1, 2}, {0, 2}, {2, 4}, {1, 1, 2, 1LL << 31}),  // more keys than 32 bits hold
      run_arrays({0}, {}, {}, {2147483647, 2147483647, 0, 4}),      // planes without rows
      run_arrays({0, 1}, {0}, {1}, {2147483647, 2147483647, 2147483647, 4}),  // the size overflows
      run_arrays({}, {}, {}, {1, 1, 0, 4}),
      run_arrays({0, 1, 2}, {0, 1LL << 40}, {2, 4}, {1, 1, 2, 4}),  // a key beyond 32 bits
      {int_tensor({0}), Tensor(DType::kFloat32, {0}), int_tensor({}), int_tensor({1, 1, 0, 4})},
      {int_tensor({0}), Tensor(DType::kInt32, {0, 2}), int_tensor({}), int_tensor({1, 1, 0, 4})},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CAPTURE(i);
    CHECK(code_of(bad[i]) == Errc::kFormat);
  }
}

TEST_CASE("rows of recurring ids are the same if they are copied or computed", "[dense]") {
  std::mt19937 random(21);
  constexpr Index kRows = 500, kKeys = 333;
  for (const int kinds : {2, 40, 400}) {
    std::vector<std::int32_t> ids(kRows), key_ids(kKeys);
    for (auto& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(kinds));
    for (auto& id : key_ids)
      id = static_cast<std::int32_t>(random() % static_cast<unsigned>(kinds));
    const PlanePtr plane = equal_ids(ids, key_ids, -1, Side::kBoth);
    Cells cells(kRows * kKeys, 7), expected;
    for (const auto q : ids) {
      for (const auto k : key_ids) expected.push_back(q == k);
    }
    dense_plane(*plane, cells);
    CHECK(cells == expected);
    dense_rows(*plane, {0, kRows}, cells);
    CHECK(cells == expected);
  }
}
