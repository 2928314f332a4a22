// Tensors, their shapes and the names of dtypes.
#include "maskctl/tensor/tensor.h"

#include <algorithm>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/element_types.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

std::string text(const std::vector<Index>& shape) { return shape_text(shape); }

}  // namespace

TEST_CASE("a new tensor is aligned and full of zeros") {
  const Tensor tensor(DType::kFloat32, {3, 5});
  CHECK(tensor.elements() == 15);
  CHECK(tensor.bytes().size() == 60);
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % 64 == 0);
  const auto values = tensor.as<float>();
  CHECK(std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }));
}

TEST_CASE("a scalar has one element, and an empty shape none") {
  CHECK(Tensor(DType::kInt64, {}).bytes().size() == 8);
  CHECK(Tensor(DType::kInt64, {0, 4}).elements() == 0);
  CHECK(Tensor().elements() == 0);
}

TEST_CASE("sizes that overflow are refused") {
  const Index max = std::numeric_limits<Index>::max();
  CHECK_THROWS_AS(Tensor(DType::kBool, {max, 2}), Error);
  CHECK_THROWS_AS(Tensor(DType::kInt16, {max}), Error);
  CHECK_THROWS_AS(Tensor(DType::kBool, {0, max, max}), Error);
  CHECK_THROWS_AS(Tensor(DType::kBool, {-1}), Error);
}

TEST_CASE("reshape keeps the elements, and refuses another number of them") {
  Tensor tensor(DType::kInt32, {2, 3});
  for (int i = 0; i < 6; ++i) tensor.as<std::int32_t>()[static_cast<std::size_t>(i)] = i;
  tensor.reshape({3, 1, 2});
  CHECK(tensor.shape() == std::vector<Index>{3, 1, 2});
  CHECK(tensor.as<std::int32_t>()[5] == 5);
  CHECK_THROWS_WITH(tensor.reshape({4}), "cannot reshape (3, 1, 2) to (4,): 6 elements");
  CHECK(tensor.rank() == 3);
}

TEST_CASE("shapes are printed as in Python") {
  CHECK(text({}) == "()");
  CHECK(text({4}) == "(4,)");
  CHECK(text({2, 3}) == "(2, 3)");
}

TEST_CASE("the name of every dtype is read back") {
  for (const ElementType& type : kElementTypes)
    CHECK(dtype_from_name(name(type.dtype)) == type.dtype);
  CHECK_FALSE(dtype_from_name("float8"));
  CHECK(size_bytes(DType::kBFloat16) == 2);
  CHECK(is_integer(DType::kInt8));
  CHECK(is_integer(DType::kUInt64));
  CHECK_FALSE(is_integer(DType::kBool));
  CHECK(is_floating(DType::kBFloat16));
  CHECK_FALSE(is_floating(DType::kUInt64));
}

TEST_CASE("the limits of float types are those of numpy and ml_dtypes") {
  struct Limits {
    DType dtype;
    double epsilon, largest, least;
  };
  for (const auto& [dtype, step, largest, least] : {
           Limits{DType::kFloat16, 0x1p-10, 65504, 0x1p-24},
           Limits{DType::kBFloat16, 0x1p-7, 0x1.fep127, 0x1p-133},
           Limits{DType::kFloat32, 0x1p-23, 0x1.fffffep127, 0x1p-149},
           Limits{DType::kFloat64, 0x1p-52, 0x1.fffffffffffffp1023, 0x1p-1074},
           Limits{DType::kFloat8E4M3, 0x1p-3, 448, 0x1p-9},
           Limits{DType::kFloat8E5M2, 0x1p-2, 57344, 0x1p-16},
       }) {
    CAPTURE(name(dtype));
    CHECK(epsilon(dtype) == step);
    CHECK(largest_number(dtype) == largest);
    CHECK(least_number(dtype) == least);
    CHECK(number_from_bits(dtype, float_bits(dtype, -largest)) == -largest);
    CHECK(number_from_bits(dtype, float_bits(dtype, least)) == least);
  }
  CHECK(epsilon(DType::kInt32) == 0);
}
