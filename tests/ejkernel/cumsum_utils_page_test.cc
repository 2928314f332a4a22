// Tests every function and example of the documentation of ejkernel.xla_utils.cumsum_utils, in its
// order.
#include <vector>

#include "maskctl/mask/arrays/packed.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

using Integers = std::vector<std::int32_t>;

Tensor array(const Integers& values) {
  Tensor out(DType::kInt32, {static_cast<Index>(values.size())});
  std::ranges::copy(values, out.as<std::int32_t>().begin());
  return out;
}

Integers list(const Tensor& tensor) { return as_int32(tensor, "tensor"); }

/// Returns the padding mask of two sequences with 3 and 2 valid tokens of 4.
Tensor padding_mask() {
  Tensor mask(DType::kBool, {2, 4});
  for (const int i : {0, 1, 2, 4, 5}) mask.bytes()[static_cast<std::size_t>(i)] = std::byte{1};
  return mask;
}

}  // namespace

TEST_CASE("cumsum_utils: the example at the top of the page gives the documented result",
          "[packed][ejkernel]") {
  const Tensor cu_seqlens = array({0, 3, 5, 9});  // of 3 sequences
  CHECK(list(prepare_lens(cu_seqlens)) == Integers{3, 2, 4});
  CHECK(list(prepare_position_ids(cu_seqlens)) == Integers{0, 1, 2, 0, 1, 0, 1, 2, 3});
}

TEST_CASE("cumsum_utils: the example of cdiv gives the documented result", "[packed][ejkernel]") {
  CHECK(list(cdiv(array({0, 1, 4, 5, 8}), 4)) == Integers{0, 1, 1, 2, 2});
}

TEST_CASE("cumsum_utils: the example of prepare_lens gives the documented result",
          "[packed][ejkernel]") {
  const Tensor lens = prepare_lens(array({0, 3, 5, 9}));
  CHECK(lens.shape() == std::vector<Index>{3});
  CHECK(list(lens) == Integers{3, 2, 4});
}

TEST_CASE("cumsum_utils: the example of prepare_lens_from_mask gives the documented result",
          "[packed][ejkernel]") {
  const Tensor lens = prepare_lens_from_mask(padding_mask());
  CHECK(lens.dtype() == DType::kInt32);
  CHECK(list(lens) == Integers{3, 2});
}

TEST_CASE("cumsum_utils: the example of prepare_cu_seqlens_from_mask gives the documented result",
          "[packed][ejkernel]") {
  CHECK(list(prepare_cu_seqlens_from_mask(padding_mask())) == Integers{0, 3, 5});
  CHECK(prepare_cu_seqlens_from_mask(padding_mask(), DType::kInt16).dtype() == DType::kInt16);
}

TEST_CASE("cumsum_utils: the example of prepare_position_ids gives the documented result",
          "[packed][ejkernel]") {
  const Tensor cu_seqlens = prepare_chunk_offsets(array({0, 3, 5, 9}), 1);
  CHECK(list(prepare_position_ids(cu_seqlens)) == Integers{0, 1, 2, 0, 1, 0, 1, 2, 3});
}

TEST_CASE("cumsum_utils: the example of prepare_sequence_ids gives the documented result",
          "[packed][ejkernel]") {
  CHECK(list(prepare_sequence_ids(array({0, 3, 5, 9}))) == Integers{0, 0, 0, 1, 1, 2, 2, 2, 2});
  // ejkernel numbers a sequence where a token has position 0, so a sequence without tokens gets no
  // number.
  CHECK(list(prepare_sequence_ids(array({0, 3, 3, 5}))) == Integers{0, 0, 0, 1, 1});
}

TEST_CASE("cumsum_utils: the example of prepare_token_indices gives the documented result",
          "[packed][ejkernel]") {
  const Tensor indices = prepare_token_indices(array({0, 3, 5}));
  CHECK(indices.shape() == std::vector<Index>{5, 2});
  CHECK(list(indices) == Integers{0, 0, 0, 1, 0, 2, 1, 0, 1, 1});
}

TEST_CASE("cumsum_utils: the example of prepare_chunk_indices gives the documented result",
          "[packed][ejkernel]") {
  const Tensor indices = prepare_chunk_indices(array({0, 3, 5, 9}), 2);
  CHECK(indices.shape() == std::vector<Index>{5, 2});
  CHECK(list(indices) == Integers{0, 0, 0, 1, 1, 0, 2, 0, 2, 1});
}

TEST_CASE("cumsum_utils: the example of prepare_chunk_offsets gives the documented result",
          "[packed][ejkernel]") {
  CHECK(list(prepare_chunk_offsets(array({0, 3, 5, 9}), 2)) == Integers{0, 2, 3, 5});
}

TEST_CASE(
    "cumsum_utils: identity_dtype_convert returns its argument, and a gradient in another dtype",
    "[packed][ejkernel]") {
  const IdentityDtypeConvert convert_to_fp32 = identity_dtype_convert(DType::kFloat32);
  Tensor bf16_tensor(DType::kBFloat16, {2});
  bf16_tensor.as<std::uint16_t>()[0] = bfloat16_from_float(1.5f);
  bf16_tensor.as<std::uint16_t>()[1] = bfloat16_from_float(-0.25f);
  CHECK(&convert_to_fp32.forward(bf16_tensor) == &bf16_tensor);  // forward returns its argument
  const Tensor gradient = convert_to_fp32.backward(bf16_tensor);
  REQUIRE(gradient.dtype() == DType::kFloat32);
  CHECK(gradient.as<float>()[0] == 1.5f);
  CHECK(gradient.as<float>()[1] == -0.25f);
  Tensor rounded(DType::kFloat32, {1});
  rounded.as<float>()[0] = 1.0f + 0x1p-12f;
  CHECK(identity_dtype_convert(DType::kFloat16).backward(rounded).as<std::uint16_t>()[0] ==
        half_from_float(1.0f));
}
