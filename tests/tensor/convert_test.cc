// Conversions between dtypes: against numpy, and for small floats against every value they have.
#include "maskctl/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/dtypes.h"
#include "support/rounds.h"

using namespace maskctl;
using maskctl::test::numpy_dtypes;
using maskctl::test::python;
using maskctl::test::Scratch;
using maskctl::test::slurp;
using maskctl::test::spit;

namespace {

template <typename T>
Tensor tensor_of(DType dtype, const std::vector<T>& values) {
  Tensor tensor(dtype, {static_cast<Index>(values.size())});
  std::memcpy(tensor.bytes().data(), values.data(), tensor.bytes().size());
  return tensor;
}

std::string bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
}

/// All numbers of a small float type from 0 on, by their bits, and the number after the largest.
std::vector<double> counted_floats(DType dtype) {
  std::vector<double> out;
  for (std::uint64_t bits = 0; bits <= element_type(dtype).layout.largest(); ++bits) {
    out.push_back(number_from_bits(dtype, bits));
  }
  out.push_back(2 * out.back() - out[out.size() - 2]);
  return out;
}

/// The bits of the float nearest to a whole number, computed without rounding; of two, the even
/// one.
std::uint64_t nearest_even(const std::vector<double>& floats, std::uint64_t number) {
  // Each float here has at most 12 significant bits or is less than 2^12, so that ceil() is exact.
  const auto exceeds = [](std::uint64_t n, double value) {
    return value >= 0x1p64 || n < static_cast<std::uint64_t>(std::ceil(value));
  };
  const auto above = std::upper_bound(floats.begin(), floats.end(), number, exceeds);
  if (above == floats.end()) return floats.size() - 1;
  const auto bits = static_cast<std::uint64_t>(above - floats.begin()) - 1;
  const double below = floats[bits];
  const std::uint64_t down = number - static_cast<std::uint64_t>(below);
  const std::uint64_t step = static_cast<std::uint64_t>(*above - below);
  return down > step - down || (down == step - down && bits % 2 != 0) ? bits + 1 : bits;
}

std::uint64_t bits_at(const Tensor& tensor, std::size_t i) {
  if (size_bytes(tensor.dtype()) == 1) return tensor.as<std::uint8_t>()[i];
  return tensor.as<std::uint16_t>()[i];
}

float ulp(float value, int steps) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) +
                              static_cast<std::uint32_t>(steps));
}

}  // namespace

TEST_CASE("every float16 is converted to float and back unchanged") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    REQUIRE(half_from_float(float_from_half(half)) == half);
  }
  CHECK(float_from_half(0x3C00) == 1.0f);
  CHECK(float_from_half(0x0001) == 0x1p-24f);
  CHECK(float_from_half(0xFBFF) == -65504.0f);
  CHECK(std::signbit(float_from_half(0x8000)));
}

TEST_CASE("floats are rounded to float16 as by numpy") {
  const Scratch scratch;
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {  // each half, its neighbours, and ties
    const float exact = float_from_half(static_cast<std::uint16_t>(bits));
    for (int step : {-1, 0, 1, 4095, 4096, 4097}) values.push_back(ulp(exact, step));
  }
  const Tensor input = tensor_of(DType::kFloat32, values);
  spit(scratch / "in", bytes_of(input));
  python(scratch,
         "np.seterr(all='ignore')\n"
         "np.fromfile('in', '<f4').astype('<f2').tofile('out')");
  const std::string expected = slurp(scratch / "out");
  const std::string got = bytes_of(astype(input, DType::kFloat16));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;  // the payload of a NaN may differ
    REQUIRE(got.substr(2 * i, 2) == expected.substr(2 * i, 2));
  }
  CHECK(std::isnan(float_from_half(half_from_float(ulp(INFINITY, 1)))));
}

TEST_CASE("floats are rounded to the nearest bfloat16, ties to even") {
  CHECK(bfloat16_from_float(1.0f) == 0x3F80);
  CHECK(bfloat16_from_float(std::bit_cast<float>(0x3F808000u)) == 0x3F80);  // a tie goes down
  CHECK(bfloat16_from_float(std::bit_cast<float>(0x3F818000u)) == 0x3F82);  // a tie goes up
  CHECK(bfloat16_from_float(std::bit_cast<float>(0x3F808001u)) == 0x3F81);
  CHECK(bfloat16_from_float(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(bfloat16_from_float(-INFINITY) == 0xFF80);
  CHECK(std::isnan(float_from_bfloat16(bfloat16_from_float(std::bit_cast<float>(0x7F800001u)))));
  CHECK(std::isnan(float_from_bfloat16(bfloat16_from_float(std::bit_cast<float>(0xFFFFFFFFu)))));
  for (std::uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const auto small = static_cast<std::uint16_t>(bits);
    REQUIRE(bfloat16_from_float(float_from_bfloat16(small)) == small);
  }
}

TEST_CASE("a double is rounded only once on its way to 16 bits") {
  // Just above a tie: rounding to float first would make it a tie, which goes to the even half
  // below.
  const Tensor input = tensor_of<double>(
      DType::kFloat64, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, -(1 + 0x1p-11 + 0x1p-40), 1e300});
  const Tensor half = astype(input, DType::kFloat16);
  CHECK(half.as<std::uint16_t>()[0] == 0x3C01);
  CHECK(half.as<std::uint16_t>()[1] == 0x3C00);
  CHECK(half.as<std::uint16_t>()[2] == 0xBC01);
  CHECK(half.as<std::uint16_t>()[3] == 0x7C00);
  const Tensor brain =
      astype(tensor_of<double>(DType::kFloat64, {1 + 0x1p-8 + 0x1p-40}), DType::kBFloat16);
  CHECK(brain.as<std::uint16_t>()[0] == 0x3F81);
}

TEST_CASE("whole numbers are rounded only once to small floats") {
  const DType dtype =
      GENERATE(DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3, DType::kFloat8E5M2);
  const std::vector<double> floats = counted_floats(dtype);
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> numbers{0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63};
  for (const double value : floats) {  // ties and their neighbours
    if (value < 1 || value >= 0x1p64) continue;
    const auto whole = static_cast<std::uint64_t>(value);
    const std::uint64_t half_step =
        std::bit_floor(whole) >> (element_type(dtype).layout.mantissa + 1);
    for (const std::uint64_t off : {0, 1, 2}) numbers.push_back(whole + half_step + off - 1);
  }
  for (int i = 0; i < test::rounds(20000); ++i) numbers.push_back(random() >> random() % 64);

  const Tensor unsigned_floats = astype(tensor_of(DType::kUInt64, numbers), dtype);
  const Tensor signed_floats = astype(tensor_of(DType::kInt64, numbers), dtype);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(name(dtype), numbers[i]);
    REQUIRE(bits_at(unsigned_floats, i) == nearest_even(floats, numbers[i]));
    const bool negative = numbers[i] >> 63 != 0;
    const std::uint64_t magnitude = negative ? 0 - numbers[i] : numbers[i];
    const std::uint64_t sign = negative ? element_type(dtype).layout.sign() : 0;
    REQUIRE(bits_at(signed_floats, i) == (sign | nearest_even(floats, magnitude)));
  }
}

TEST_CASE("astype equals numpy between all dtypes, for values that fit") {
  const Scratch scratch;
  python(scratch, R"(
np.seterr(all='ignore')
types = 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64'.split()
for s in types:
    base = np.array([0, 1, 2, 3, 100, 127]) if s == 'bool' or s[0] == 'u' else \
           np.array([0, 1, -1, -2, 100, 127, -128])
    a = base.astype(s)
    if s.startswith('float'):
        a = np.concatenate([a, np.array([0.5, 2.75, 99.99], s)])
    elif s != 'bool':
        i = np.iinfo(s)
        a = np.concatenate([a, np.array([i.max, i.min], s)])
    a.tofile(s + '.in')
    for d in types:
        a.astype(d).tofile(s + '-' + d)
)");
  for (const DType from : numpy_dtypes()) {
    for (const DType to : numpy_dtypes()) {
      const std::string bytes = slurp(scratch / (std::string(name(from)) + ".in"));
      Tensor input(from, {static_cast<Index>(bytes.size()) / size_bytes(from)});
      std::memcpy(input.bytes().data(), bytes.data(), bytes.size());
      const std::string pair = std::string(name(from)) + "-" + std::string(name(to));
      INFO(pair);
      // Negative floats converted to unsigned integers are undefined in C, and so in numpy.
      const bool undefined = is_floating(from) && is_integer(to) && name(to).starts_with("uint");
      const std::string expected = slurp(scratch / pair);
      const std::string got = bytes_of(astype(input, to));
      const auto width = static_cast<std::size_t>(size_bytes(to));
      CHECK(got.size() == expected.size());
      for (std::size_t i = 0; i < got.size(); i += width) {
        if (undefined && (i / width == 2 || i / width == 3 || i / width == 6)) continue;
        CHECK(got.substr(i, width) == expected.substr(i, width));
      }
    }
  }
}

TEST_CASE("astype writes bools as 0 or 1, and NaN as true") {
  const Tensor odd = tensor_of<std::uint8_t>(DType::kBool, {0, 1, 2, 255});
  CHECK(bytes_of(astype(odd, DType::kBool)) == std::string("\0\1\1\1", 4));
  CHECK(bytes_of(astype(odd, DType::kUInt8)) == std::string("\0\1\1\1", 4));
  const Tensor nan = tensor_of<float>(DType::kFloat32, {NAN, 0.0f, -0.0f, 0x1p-149f});
  CHECK(bytes_of(astype(nan, DType::kBool)) == std::string("\1\0\0\1", 4));
  const Tensor half = tensor_of<std::uint16_t>(DType::kFloat16, {0x8000, 0x0001});
  CHECK(bytes_of(astype(half, DType::kBool)) == std::string("\0\1", 2));
}

TEST_CASE("as_int64 returns whole numbers exactly; the error about others names the element") {
  const Tensor floats = tensor_of<double>(DType::kFloat64, {0, -3, 0x1p53, -0x1p63});
  CHECK(as_int64(floats, "ids") ==
        std::vector<std::int64_t>{0, -3, Index{1} << 53, std::numeric_limits<Index>::min()});
  CHECK_THROWS_WITH(as_int64(tensor_of<float>(DType::kFloat32, {1, 2.5f}), "ids"),
                    "ids: element 1 is 2.5; expected a whole number that fits int64");
  CHECK_THROWS_AS(as_int64(tensor_of<float>(DType::kFloat32, {NAN}), "ids"), Error);
  CHECK_THROWS_AS(as_int64(tensor_of<double>(DType::kFloat64, {0x1p63}), "ids"), Error);
  CHECK_THROWS_AS(as_int64(tensor_of<std::uint64_t>(DType::kUInt64, {1ull << 63}), "ids"), Error);
  CHECK(as_int64(tensor_of<std::uint8_t>(DType::kBool, {0, 7}), "ids") ==
        std::vector<std::int64_t>{0, 1});
  CHECK(as_int32(tensor_of<std::int64_t>(DType::kInt64, {-1, 2147483647}), "ids") ==
        std::vector<std::int32_t>{-1, 2147483647});
  CHECK_THROWS_WITH(as_int32(tensor_of<std::int64_t>(DType::kInt64, {2147483648}), "lens"),
                    "lens: element 0 is 2147483648; expected a whole number that fits int32");
  CHECK_THROWS_AS(as_int32(tensor_of<float>(DType::kFloat32, {0x1p31f}), "ids"), Error);
  CHECK(as_int32(tensor_of<float>(DType::kFloat32, {-0x1p31f}), "ids").front() == -2147483647 - 1);
}
