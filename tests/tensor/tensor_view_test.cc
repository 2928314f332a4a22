// Views of borrowed arrays: their layout, and what may be read through them.
#include "maskctl/tensor/tensor_view.h"

#include <algorithm>
#include <numeric>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

Tensor counted(std::vector<Index> shape) {
  Tensor x(DType::kFloat32, std::move(shape));
  std::iota(x.as<float>().begin(), x.as<float>().end(), 1.0f);
  return x;
}

Errc code_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_CASE("a view of a tensor reads its elements without a copy") {
  Tensor x = counted({2, 3, 4});
  const TensorView view = x;
  CHECK(view.data() == x.bytes().data());
  CHECK(view.dtype() == DType::kFloat32);
  CHECK(view.place() == MemoryPlace{});
  CHECK(view.rank() == 3);
  CHECK(view.elements() == 24);
  CHECK(std::ranges::equal(view.shape(), x.shape()));
  CHECK(std::ranges::equal(view.strides(), std::array<Index, 3>{12, 4, 1}));
  CHECK(view.is_contiguous());
  const MutableTensorView writable = x;
  writable.as<float>()[5] = 70;
  CHECK(view.as<float>()[5] == 70);
  CHECK(TensorView(writable).data() == view.data());
}

TEST_CASE("a view without an array has no elements") {
  CHECK(TensorView().elements() == 0);
  CHECK(TensorView().as<float>().empty());
  CHECK_FALSE(view_of(nullptr));
  const Tensor scalar(DType::kInt32, {});
  CHECK(view_of(&scalar)->elements() == 1);
  CHECK(view_of(&scalar)->rank() == 0);
}

TEST_CASE("a view is contiguous in C order without gaps; strides of extents 1 do not matter") {
  const Tensor x = counted({4, 6});
  const auto with = [&](std::vector<Index> shape, std::vector<Index> strides) {
    return TensorView(x.bytes().data(), x.dtype(), shape, strides);
  };
  CHECK(with({4, 6}, {6, 1}).is_contiguous());
  CHECK_FALSE(with({6, 4}, {1, 6}).is_contiguous());  // transposed
  CHECK_FALSE(with({4, 3}, {6, 1}).is_contiguous());  // the first half of each row
  CHECK_FALSE(with({4, 6}, {0, 1}).is_contiguous());  // the same row again and again
  CHECK(with({1, 6}, {100, 1}).is_contiguous());
  CHECK(with({6, 1}, {1, 100}).is_contiguous());
  CHECK_FALSE(with({6, 1}, {2, 100}).is_contiguous());
  CHECK(with({0, 6}, {1, 17}).is_contiguous());
}

TEST_CASE("views that are not contiguous, or on a device, refuse as()") {
  const Tensor x = counted({4, 6});
  const TensorView transposed(x.bytes().data(), x.dtype(), std::array<Index, 2>{6, 4},
                              std::array<Index, 2>{1, 6});
  CHECK(code_of([&] { transposed.as<float>(); }) == Errc::kUnsupported);
  const TensorView elsewhere(x.bytes().data(), x.dtype(), x.shape(), {MemorySpace::kDevice, 1});
  CHECK(elsewhere.is_contiguous());
  CHECK(code_of([&] { elsewhere.as<float>(); }) == Errc::kUnsupported);
  CHECK(code_of([&] { TensorView(x.bytes().data(), x.dtype(), std::vector<Index>(9, 1)); }) ==
        Errc::kShape);
}

TEST_CASE("convert() writes the elements of astype()") {
  const Tensor x = counted({5, 7});
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat64, DType::kInt16}) {
    Tensor out(dtype, {35});
    convert(x, out);
    CHECK(std::ranges::equal(out.bytes(), astype(x, dtype).bytes()));
  }
  Tensor small(DType::kFloat32, {34});
  CHECK(code_of([&] { convert(x, small); }) == Errc::kShape);
}
