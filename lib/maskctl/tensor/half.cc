// The 16-bit floats: IEEE half and bfloat16, to and from float.
#include <bit>

#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::uint32_t kFloatInfinity = 0x7F800000;

/// `value` divided by 2^shift, rounded to the nearest integer, ties to even. 0 < shift < 32.
std::uint32_t shift_round_even(std::uint32_t value, std::uint32_t shift) {
  const std::uint32_t odd = (value >> shift) & 1;
  return (value + (1u << (shift - 1)) - 1 + odd) >> shift;
}

}  // namespace

float float_from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1F;
  const std::uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24 is exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | kFloatInfinity | mantissa << 13);
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}

std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half = 0;
  if (magnitude > kFloatInfinity) {
    const std::uint32_t payload = (magnitude >> 13) & 0x3FFu;
    half = 0x7C00u | (payload != 0 ? payload : 1u);  // a NaN must not become an infinity
  } else if (magnitude >= 0x47800000) {              // 2^16 and above
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000) {  // normal halves; a carry into infinity is right
    half = shift_round_even(magnitude - ((127u - 15u) << 23), 13);
  } else if (magnitude > 0x33000000) {  // above 2^-25, half of the smallest subnormal
    const std::uint32_t exponent = magnitude >> 23;
    half = shift_round_even((magnitude & 0x7FFFFFu) | 0x800000u, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

float float_from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > kFloatInfinity) {
    return static_cast<std::uint16_t>(bits >> 16 |
                                      0x40u);  // stays a quiet NaN whatever bits were cut off
  }
  return static_cast<std::uint16_t>((std::uint64_t{bits} + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace maskctl
