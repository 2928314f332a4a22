// Compares arrays that are stored as lazy masks with numpy's rules, cell by cell.
#include "maskctl/ejkernel/mask_info/mask_array.h"

#include <random>

#include "ejkernel/mask_info/info_support.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using info_test::Shape;

Tensor random_tensor(std::mt19937& random, const Shape& shape, DType dtype) {
  Tensor out(DType::kInt32, shape);
  for (auto& value : out.as<std::int32_t>()) {
    value = static_cast<std::int32_t>(random() % 3) - (dtype == DType::kInt32 ? 1 : 0);
  }
  return astype(out, dtype);
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

/// True if the element at `at` is not 0, where the array is broadcast as in numpy: axes line up
/// from the last.
bool nonzero_at(const Tensor& array, const std::vector<Index>& at) {
  Index offset = 0;
  for (std::size_t axis = 0; axis < array.shape().size(); ++axis) {
    const Index i = at[at.size() - array.shape().size() + axis];
    const Index extent = array.shape()[axis];
    offset = offset * extent + (extent == 1 ? 0 : i);
  }
  return array.as<std::uint8_t>()[static_cast<std::size_t>(offset)] != 0;
}

/// Computes `x op y` on bools, broadcast to `shape` as in numpy.
Tensor slow_combine(Op op, const Tensor& x, const Tensor& y, const Shape& shape) {
  const Tensor a = astype(x, DType::kBool), b = astype(y, DType::kBool);
  Tensor out(DType::kBool, shape);
  std::vector<Index> at(shape.size(), 0);
  for (auto& cell : out.as<std::uint8_t>()) {
    cell = twin::apply_op(op, nonzero_at(a, at), nonzero_at(b, at));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a bool array of rank 2 to 4 becomes lazy, and keeps its shape and elements",
          "[mask_array]") {
  std::mt19937 random(1);
  for (const Shape& shape : {Shape{3, 4}, Shape{2, 3, 4}, Shape{2, 5, 3, 4}, Shape{0, 3},
                             Shape{2, 0, 3, 4}, Shape{0, 0}, Shape{3, 2, 0}}) {
    const Tensor tensor = random_tensor(random, shape, DType::kBool);
    const MaskArray array(tensor);
    CHECK(array.lazy());
    CHECK(array.shape() == shape);
    CHECK(same(array.tensor(), tensor));
  }
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{1, 2, 1, 3, 2}}) {
    const Tensor tensor = random_tensor(random, shape, DType::kBool);
    CHECK_FALSE(MaskArray(tensor).lazy());
    CHECK(same(MaskArray(tensor).tensor(), tensor));
    CHECK_THROWS_AS(MaskArray(tensor).mask(), PythonError);
  }
}

TEST_CASE("an array of rank 3 has the last three axes of its mask", "[mask_array]") {
  std::mt19937 random(2);
  const Tensor tensor = random_tensor(random, {5, 3, 4}, DType::kBool);
  const Mask mask = MaskArray(tensor).mask();
  CHECK(mask.batch() == 1);
  CHECK(mask.heads() == 5);
  CHECK(MaskArray(mask, 3, DType::kInt32).shape() == Shape{5, 3, 4});
  CHECK_THROWS_AS(MaskArray(mask, 2, DType::kBool), Error);
  CHECK_THROWS_AS(MaskArray(mask, 5, DType::kBool), Error);
}

TEST_CASE("casts of a lazy array equal casts of its elements, and stay lazy", "[mask_array]") {
  std::mt19937 random(3);
  for (const DType from : {DType::kBool, DType::kInt32, DType::kFloat32}) {
    const Tensor tensor = random_tensor(random, {2, 3, 9}, from);
    for (const DType to : {DType::kBool, DType::kInt8, DType::kInt32, DType::kFloat16,
                           DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
      const MaskArray cast = MaskArray(tensor).astype(to);
      CHECK(cast.dtype() == to);
      CHECK(same(cast.tensor(), astype(tensor, to)));
      CHECK(cast.lazy() == (from == DType::kBool || to == DType::kBool));
    }
  }
}

TEST_CASE("arrays combine with broadcasting over all axes", "[mask_array]") {
  std::mt19937 random(4);
  const DType types[] = {DType::kBool, DType::kInt32, DType::kFloat32};
  for (int round = 0; round < 400; ++round) {
    Shape shape(random() % 6);
    for (Index& extent : shape) extent = random() % 9 == 0 ? 0 : 1 + random() % 5;
    const auto operand = [&](bool keep_rank) {
      Shape own = shape;
      for (Index& extent : own) {
        if (random() % 3 == 0) extent = 1;
      }
      if (!keep_rank)
        own.erase(own.begin(), own.begin() + static_cast<long>(random() % (own.size() + 1)));
      return random_tensor(random, own, types[random() % 3]);
    };
    const Tensor a = operand(true), b = operand(false);
    Shape both = a.shape();
    for (std::size_t i = 1; i <= b.shape().size(); ++i) {
      Index& extent = both[both.size() - i];
      if (extent == 1) extent = b.shape()[b.shape().size() - i];
    }
    const Op op = static_cast<Op>(random() % 4);
    const MaskArray ab = combine(op, MaskArray(a), MaskArray(b));
    REQUIRE(same(ab.tensor(), slow_combine(op, a, b, both)));
    REQUIRE(same(combine(op, MaskArray(b), MaskArray(a)).tensor(), slow_combine(op, b, a, both)));
    REQUIRE(ab.lazy() == (both.size() >= 2 && both.size() <= 4));
  }
}

TEST_CASE("shapes that cannot be broadcast raise TypeError", "[mask_array]") {
  const MaskArray a(Tensor(DType::kBool, {2, 3, 4})), b(Tensor(DType::kBool, {3, 3, 4}));
  CHECK(info_test::python_error_of([&] { combine(Op::kOr, a, b); }) ==
        "TypeError: got incompatible shapes for broadcasting: (2, 3, 4), (3, 3, 4)");
}

TEST_CASE("a row or a column combined with a million x million mask stays lazy", "[mask_array]") {
  constexpr Index kTokens = 1 << 20;
  const MaskArray causal(Mask(diagonal_band(kTokens, kTokens, -kUnbounded, 0)));
  std::vector<std::uint8_t> flags(kTokens, 1);
  flags[5] = 0;
  const MaskArray keys(Mask(key_flags(1, flags))), queries(Mask(query_flags(flags, 1)));
  const Mask both = combine(Op::kAnd, combine(Op::kAnd, causal, keys), queries).mask();
  CHECK(both.plane(0, 0)->bytes() < Index{64} << 20);
  // Query 5 sees no key, and key 5 is seen by no later query.
  CHECK(both.count() == kTokens * (kTokens + 1) / 2 - 6 - (kTokens - 6));
}

TEST_CASE("a lazy array that is too large to read is refused", "[mask_array]") {
  const MaskArray array(Mask(full_plane(1 << 20, 1 << 20)), DType::kFloat32);
  CHECK_THROWS_AS(array.tensor(), Error);
  CHECK_THROWS_AS(MaskArray(Mask(full_plane(10, 10)), DType::kFloat32).tensor(399), Error);
  CHECK(MaskArray(Mask(full_plane(10, 10)), DType::kFloat32).tensor(400).elements() == 100);
}

}  // namespace maskctl
