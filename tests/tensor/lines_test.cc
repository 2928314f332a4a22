// Reading the lines of an array with any strides, against plain indexing.
#include "maskctl/tensor/lines.h"

#include <cstring>
#include <numeric>
#include <random>

#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

struct Strided {
  Tensor memory;
  std::vector<Index> shape, strides;
  Index first = 0;

  TensorView view() const {
    return {memory.bytes().data() + first * 2, DType::kInt16, shape, strides};
  }
  std::int16_t at(std::span<const Index> index) const {
    Index place = first;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) place += index[axis] * strides[axis];
    return memory.as<std::int16_t>()[as_size(place)];
  }
};

/// A random array whose strides are positive, negative or 0, all inside its memory.
Strided random_strided(std::mt19937& random) {
  const auto draw = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  Strided out;
  Index low = 0, high = 0;
  for (Index axis = draw(1, 4); axis > 0; --axis) {
    out.shape.push_back(draw(0, 5));
    out.strides.push_back(draw(-3, 3));
    const Index reach = out.strides.back() * std::max<Index>(0, out.shape.back() - 1);
    (reach < 0 ? low : high) += reach;
  }
  out.first = -low;
  out.memory = Tensor(DType::kInt16, {high - low + 1});
  std::iota(out.memory.as<std::int16_t>().begin(), out.memory.as<std::int16_t>().end(), 1);
  return out;
}

/// All elements in C order, by plain indexing.
std::vector<std::int16_t> elements_of(const Strided& array) {
  std::vector<std::int16_t> out;
  std::vector<Index> index(array.shape.size(), 0);
  for (Index n = array.view().elements(); n > 0; --n) {
    out.push_back(array.at(index));
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < array.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

TEST_CASE("an array of any strides is read in C order", "[lines]") {
  std::mt19937 random(11);
  for (int round = 0; round < rounds(2000); ++round) {
    const Strided array = random_strided(random);
    CAPTURE(shape_text(array.shape), shape_text(array.strides));
    const Tensor copy = copy_of(array.view());
    REQUIRE(copy.shape() == array.shape);
    const auto values = copy.as<std::int16_t>();
    REQUIRE(std::vector<std::int16_t>(values.begin(), values.end()) == elements_of(array));
  }
}

TEST_CASE("a contiguous line is read without a copy", "[lines]") {
  Tensor x(DType::kInt16, {3, 70});
  const Lines lines(x);
  Lines::Buffer buffer;
  REQUIRE(lines.count() == 3);
  REQUIRE(lines.length() == 70);
  CHECK(lines.read(2, {64, 70}, buffer).data() == x.bytes().data() + (2 * 70 + 64) * 2);
  CHECK(buffer.empty());
}

TEST_CASE("an array in device memory cannot be read by lines", "[lines]") {
  Tensor x(DType::kInt16, {3, 70});
  const TensorView far(x.bytes().data(), x.dtype(), x.shape(), {MemorySpace::kDevice, 0});
  CHECK_THROWS_AS(Lines(far), Error);
}

}  // namespace
}  // namespace maskctl::test
