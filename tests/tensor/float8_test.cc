// The 8-bit floats, against a twin that compares a number with every code.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/element_types.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

using namespace maskctl;

namespace {

/// An 8-bit float as its paper defines it: how the bits are shared, and what the last codes mean.
struct Paper {
  DType dtype;
  int exponent, mantissa, bias;
  int first_special;    // the code, without sign, of infinity or of the only NaN
  double past_largest;  // the number that first_special would be
  int quiet_nan;        // the code, without sign, that NaN becomes
};
constexpr Paper kE4M3{DType::kFloat8E4M3, 4, 3, 7, 0x7f, 480, 0x7f};
constexpr Paper kE5M2{DType::kFloat8E5M2, 5, 2, 15, 0x7c, 65536, 0x7f};

double number(const Paper& paper, int code) {
  const int magnitude = code & 0x7f;
  const double sign = code >= 128 ? -1 : 1;
  if (magnitude >= paper.first_special) {
    const bool infinite = paper.dtype == DType::kFloat8E5M2 && magnitude == 0x7c;
    return infinite ? sign * INFINITY : NAN;
  }
  const int exponent = magnitude >> paper.mantissa, rest = magnitude % (1 << paper.mantissa);
  const double fraction = std::ldexp(rest, -paper.mantissa);
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - paper.bias)
                       : sign * std::ldexp(1 + fraction, exponent - paper.bias);
}

/// The code nearest to a number; of two, the even one. The code after the largest number counts as
/// the number that it would be, so that large numbers round to it.
int nearest(const Paper& paper, double value) {
  const int sign = std::signbit(value) ? 128 : 0;
  if (std::isnan(value)) return sign | paper.quiet_nan;
  int best = paper.first_special;
  double least = std::abs(std::abs(value) - paper.past_largest);
  if (std::abs(value) >= paper.past_largest) return sign | best;
  for (int code = paper.first_special - 1; code >= 0; --code) {
    const double off = std::abs(std::abs(value) - number(paper, code));
    if (off < least || (off == least && code % 2 == 0)) best = code, least = off;
  }
  return sign | best;
}

template <typename T>
Tensor filled(DType dtype, const std::vector<T>& values) {
  Tensor tensor(dtype, {std::ssize(values)});
  std::memcpy(tensor.bytes().data(), values.data(), tensor.bytes().size());
  return tensor;
}

void check_against_twin(const Paper& paper, const Tensor& from) {
  const Tensor numbers = astype(from, DType::kFloat64), narrow = astype(from, paper.dtype);
  for (Index i = 0; i < from.elements(); ++i) {
    const double value = numbers.as<double>()[as_size(i)];
    CAPTURE(name(paper.dtype), value);
    REQUIRE(narrow.as<std::uint8_t>()[as_size(i)] == nearest(paper, value));
  }
}

}  // namespace

TEST_CASE("float8: every code has the value of its definition, and is converted back") {
  const Paper paper = GENERATE(kE4M3, kE5M2);
  for (int code = 0; code < 256; ++code) {
    CAPTURE(name(paper.dtype), code);
    Tensor one(paper.dtype, {1});
    one.as<std::uint8_t>()[0] = static_cast<std::uint8_t>(code);
    const double expected = number(paper, code);
    for (const DType wide : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
      const double got = astype(astype(one, wide), DType::kFloat64).as<double>()[0];
      REQUIRE((got == expected || (std::isnan(got) && std::isnan(expected))));
      REQUIRE(std::signbit(got) == (code >= 128));
      const int back = astype(astype(one, wide), paper.dtype).as<std::uint8_t>()[0];
      REQUIRE(back == (std::isnan(expected) ? (code & 128) | paper.quiet_nan : code));
    }
  }
}

TEST_CASE("float8: every float16 is rounded to the nearest code") {
  const Paper paper = GENERATE(kE4M3, kE5M2);
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  check_against_twin(paper, filled(DType::kFloat16, halves));
}

TEST_CASE(
    "float8: values, ties, their neighbours and random floats are rounded to the nearest code") {
  const Paper paper = GENERATE(kE4M3, kE5M2);
  std::vector<float> floats{INFINITY, -INFINITY, NAN, -NAN, std::numeric_limits<float>::max()};
  std::vector<double> doubles{1e300, -1e300, 1e-300, -1e-300};
  for (int code = 0; code <= paper.first_special; ++code) {
    const auto at = [&](int c) {
      return c == paper.first_special ? paper.past_largest : number(paper, c);
    };
    for (const double value : {at(code), (at(code) + at(std::max(code - 1, 0))) / 2}) {
      const auto single = static_cast<float>(value);
      floats.insert(floats.end(),
                    {single, std::nextafter(single, INFINITY), -std::nextafter(single, -INFINITY)});
      doubles.insert(doubles.end(),
                     {value, std::nextafter(value, INFINITY), -std::nextafter(value, -INFINITY)});
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < test::rounds(50000); ++i) {
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    const int exponent = static_cast<int>(random() % 40) - 22;  // in the types' range
    floats.push_back(std::ldexp(static_cast<float>(random() % 4096) / 4096, exponent));
  }
  check_against_twin(paper, filled(DType::kFloat32, floats));
  check_against_twin(paper, filled(DType::kFloat64, doubles));
}

TEST_CASE("float8: numbers that are too large become NaN in types without infinities") {
  const auto cast = [](DType dtype, float value) {
    return int{astype(filled<float>(DType::kFloat32, {value}), dtype).as<std::uint8_t>()[0]};
  };
  CHECK(cast(DType::kFloat8E4M3, 448) == 0x7e);
  CHECK(cast(DType::kFloat8E4M3, 464) == 0x7e);  // a tie with 480, the code of NaN, goes to 448
  CHECK(cast(DType::kFloat8E4M3, 464.001f) == 0x7f);
  CHECK(cast(DType::kFloat8E4M3, -INFINITY) == 0xff);
  CHECK(cast(DType::kFloat8E5M2, 57344) == 0x7b);
  CHECK(cast(DType::kFloat8E5M2, 61439) == 0x7b);
  CHECK(cast(DType::kFloat8E5M2, 61440) == 0x7c);  // a tie: infinity has the even code
  CHECK(cast(DType::kFloat8E5M2, -INFINITY) == 0xfc);
  CHECK(cast(DType::kFloat8E5M2, NAN) == 0x7f);
}
