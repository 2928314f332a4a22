// The utilities for packed sequences, against ejkernel's array expressions as plain loops.
#include "maskctl/mask/arrays/packed.h"

#include <functional>
#include <limits>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

using Integers = std::vector<std::int64_t>;

Tensor tensor_of(const Integers& values, DType dtype = DType::kInt32) {
  Tensor out(DType::kInt64, {static_cast<Index>(values.size())});
  std::copy(values.begin(), values.end(), out.as<std::int64_t>().begin());
  return astype(out, dtype);
}

Integers values_of(const Tensor& tensor) { return as_int64(tensor, "tensor"); }

Errc code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return Errc::kUnsupported;
}

Integers cumulative(const Integers& lens) {
  Integers cu{0};
  for (const std::int64_t n : lens) cu.push_back(cu.back() + n);
  return cu;
}

// Repeats each value as numpy.repeat(values, counts) does, but ignores values without a count.
Integers repeat(const Integers& values, const Integers& counts) {
  Integers out;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::int64_t n = 0; n < counts[i]; ++n) out.push_back(values[i]);
  }
  return out;
}

// Positions of tokens in their sequences: arange(total) - repeat(cu[:-1], lens).
Integers positions_of(const Integers& lens) {
  Integers positions = repeat(cumulative(lens), lens);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    positions[i] = static_cast<std::int64_t>(i) - positions[i];
  }
  return positions;
}

// Segment ids of tokens: (positions == 0).cumsum() - 1.
Integers ids_of(const Integers& positions) {
  Integers ids;
  std::int64_t zeros = 0;
  for (const std::int64_t position : positions) ids.push_back((zeros += position == 0) - 1);
  return ids;
}

Integers index_of_each(const Integers& lens) {
  Integers numbers(lens.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  return repeat(numbers, lens);
}

// The elements of stack([a, b], axis=1).
Integers pairs(const Integers& a, const Integers& b) {
  Integers out;
  for (std::size_t i = 0; i < a.size(); ++i) out.insert(out.end(), {a[i], b[i]});
  return out;
}

Integers chunks_of(const Integers& lens, std::int64_t size) {
  Integers chunks;
  for (const std::int64_t n : lens) {
    std::int64_t count = 0;
    while (count * size < n) ++count;
    chunks.push_back(count);
  }
  return chunks;
}

void compare_with_twin(const Integers& lens, std::int64_t chunk_size, DType dtype) {
  const Tensor cu = tensor_of(cumulative(lens), dtype);
  const Integers positions = positions_of(lens);
  const Integers chunks = chunks_of(lens, chunk_size), chunk_positions = positions_of(chunks);
  CHECK(values_of(prepare_lens(cu)) == lens);
  CHECK(values_of(prepare_position_ids(cu)) == positions);
  CHECK(values_of(prepare_sequence_ids(cu)) == ids_of(positions));
  CHECK(values_of(prepare_sequence_ids(cu, true)) == index_of_each(lens));
  CHECK(values_of(prepare_token_indices(cu)) == pairs(ids_of(positions), positions));
  CHECK(values_of(prepare_token_indices(cu, true)) == pairs(index_of_each(lens), positions));
  CHECK(values_of(prepare_chunk_indices(cu, chunk_size)) ==
        pairs(ids_of(chunk_positions), chunk_positions));
  CHECK(values_of(prepare_chunk_indices(cu, chunk_size, true)) ==
        pairs(index_of_each(chunks), chunk_positions));
  CHECK(values_of(prepare_chunk_offsets(cu, chunk_size)) == cumulative(chunks));
}

}  // namespace

TEST_CASE("packed sequences equal plain loops for random lengths", "[packed]") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Integers lens(random() % 9);
    for (std::int64_t& n : lens) n = random() % 3 == 0 ? 0 : random() % 15;
    const DType dtypes[] = {DType::kInt8, DType::kInt32, DType::kInt64, DType::kUInt16};
    compare_with_twin(lens, 1 + random() % 6, dtypes[random() % 4]);
  }
}

TEST_CASE("results have the dtype of the cumulative lengths, except sequence ids", "[packed]") {
  for (const DType dtype : {DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt8}) {
    const Tensor cu = tensor_of({0, 3, 5, 9}, dtype);
    CHECK(prepare_lens(cu).dtype() == dtype);
    CHECK(prepare_position_ids(cu).dtype() == dtype);
    CHECK(prepare_token_indices(cu).dtype() == dtype);
    CHECK(prepare_chunk_indices(cu, 2).dtype() == dtype);
    CHECK(prepare_chunk_offsets(cu, 2).dtype() == dtype);
    CHECK(cdiv(cu, 2).dtype() == dtype);
    CHECK(prepare_sequence_ids(cu).dtype() == DType::kInt32);
  }
}

TEST_CASE("results of packed sequences have ejkernel's shapes", "[packed]") {
  const Tensor cu = tensor_of({0, 3, 3, 5});
  CHECK(prepare_lens(cu).shape() == std::vector<Index>{3});
  CHECK(prepare_token_indices(cu).shape() == std::vector<Index>{5, 2});
  CHECK(prepare_chunk_indices(cu, 2).shape() == std::vector<Index>{3, 2});
  CHECK(prepare_chunk_offsets(cu, 2).shape() == std::vector<Index>{4});
  CHECK(prepare_token_indices(tensor_of({0})).shape() == std::vector<Index>{0, 2});
  CHECK(prepare_lens(tensor_of({})).elements() == 0);
}

TEST_CASE("cdiv rounds up for negative dividends too, and keeps the shape", "[packed]") {
  CHECK(values_of(cdiv(tensor_of({-27, -20, -10, -3, 0, 1, 9, 10, 11}), 10)) ==
        Integers{-2, -2, -1, 0, 0, 1, 1, 1, 2});
  Tensor scalar = tensor_of({-6});
  scalar.reshape({});
  CHECK(cdiv(scalar, 3).shape().empty());
  CHECK(values_of(cdiv(scalar, 3)) == Integers{-2});
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(values_of(cdiv(tensor_of({largest}, DType::kInt64), 2)) == Integers{largest / 2 + 1});
  // ejkernel's formula (a + b - 1) // b, which for b = -3 does not round up: (10 - 3 - 1) // -3 =
  // -2.
  CHECK(values_of(cdiv(tensor_of({10, 1}), -3)) == Integers{-2, 1});
}

TEST_CASE("lengths from a padding mask are its row sums", "[packed]") {
  Tensor mask(DType::kInt32, {3, 4});
  std::ranges::copy(std::vector<std::int32_t>{1, 1, 1, 0, 0, 0, 0, 0, 2, -1, 5, 0},
                    mask.as<std::int32_t>().begin());
  const Tensor lens = prepare_lens_from_mask(mask);
  CHECK(lens.dtype() == DType::kInt32);
  CHECK(values_of(lens) == Integers{3, 0, 6});
  CHECK(values_of(prepare_cu_seqlens_from_mask(mask)) == Integers{0, 3, 3, 9});
  CHECK(prepare_cu_seqlens_from_mask(mask, DType::kFloat32).dtype() == DType::kFloat32);
  const Tensor cells = astype(mask, DType::kBool);
  CHECK(values_of(prepare_lens_from_mask(cells)) == Integers{3, 0, 3});
  CHECK(values_of(prepare_lens_from_mask(Tensor(DType::kBool, {2, 0}))) == Integers{0, 0});
}

TEST_CASE("functions of packed sequences refuse arrays that are no cumulative lengths",
          "[packed]") {
  Tensor matrix = tensor_of({0, 1, 2, 3});
  matrix.reshape({2, 2});
  CHECK(code_of([&] { prepare_lens(matrix); }) == Errc::kShape);
  CHECK(code_of([] { prepare_lens(Tensor(DType::kFloat32, {3})); }) == Errc::kInvalidArgument);
  CHECK(code_of([] { prepare_position_ids(tensor_of({})); }) == Errc::kShape);
  CHECK(code_of([] { prepare_position_ids(tensor_of({2, 5})); }) == Errc::kShape);
  CHECK(code_of([] { prepare_sequence_ids(tensor_of({0, 5, 3})); }) == Errc::kInvalidArgument);
  CHECK(code_of([] { prepare_chunk_indices(tensor_of({0, 5}), 0); }) == Errc::kInvalidArgument);
  CHECK(code_of([] { prepare_lens_from_mask(Tensor(DType::kBool, {3})); }) == Errc::kShape);
  CHECK(code_of([] { cdiv(Tensor(DType::kFloat32, {3}), 2); }) == Errc::kInvalidArgument);
}

TEST_CASE("no memory is allocated for hostile cumulative lengths", "[packed]") {
  const std::int64_t huge = std::int64_t{1} << 62;
  const Tensor cu = tensor_of({0, huge}, DType::kInt64);
  CHECK_THROWS_AS(prepare_position_ids(cu), Error);
  CHECK_THROWS_AS(prepare_sequence_ids(cu), Error);
  CHECK_THROWS_AS(prepare_token_indices(cu), Error);
  CHECK_THROWS_AS(prepare_chunk_indices(cu, 1), Error);
  CHECK(values_of(prepare_chunk_offsets(cu, 2)) == Integers{0, huge / 2});
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK_THROWS_AS(prepare_position_ids(tensor_of({0, least, huge}, DType::kInt64)), Error);
}
