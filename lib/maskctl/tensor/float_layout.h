// The bit layout of floats (sign, exponent, mantissa), and conversions between float and floats of
// 8 or 16 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace maskctl {

/// How many bits a float type has for exponent and mantissa, and constants that follow from it. All
/// constants but sign() are the bits of magnitudes: the sign bit is 0, so larger bits mean a larger
/// number.
struct FloatLayout {
  int exponent = 0, mantissa = 0;
  /// If false (types named "fn"), the highest exponent encodes finite numbers too, and only all
  /// bits set is NaN.
  bool has_infinity = true;

  constexpr int bits() const { return 1 + exponent + mantissa; }
  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  constexpr std::uint64_t sign() const { return std::uint64_t{1} << (exponent + mantissa); }
  /// The mask of all bits except the sign.
  constexpr std::uint64_t magnitude() const { return sign() - 1; }
  constexpr std::uint64_t one() const { return static_cast<std::uint64_t>(bias()) << mantissa; }
  constexpr std::uint64_t largest() const {
    return magnitude() - (has_infinity ? std::uint64_t{1} << mantissa : 1);
  }
  /// The bits that replace a number too large for the type: infinity, or NaN in types without
  /// infinity.
  constexpr std::uint64_t overflow() const { return largest() + 1; }
};

namespace small_float {

constexpr FloatLayout kSingle{8, 23};
constexpr std::uint32_t kInfinity = static_cast<std::uint32_t>(kSingle.overflow());
/// The stored exponent of a float32 minus the stored exponent of the same number in `layout`.
constexpr int rebias(const FloatLayout& layout) { return kSingle.bias() - layout.bias(); }

/// `value` divided by 2^shift, rounded to the nearest integer, ties to even. 0 < shift < 32.
constexpr std::uint32_t shift_round_even(std::uint32_t value, int shift) {
  const std::uint32_t odd = (value >> shift) & 1;
  return (value + (1u << (shift - 1)) - 1 + odd) >> shift;
}

/// The bits in `layout` of a float32 below the smallest normal number of `layout`: its multiple of
/// the smallest subnormal number, rounded.
template <FloatLayout layout>
constexpr std::uint32_t subnormal(std::uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> kSingle.mantissa);
  const std::uint32_t fraction = magnitude & ((1u << kSingle.mantissa) - 1);
  const std::uint32_t significand = exponent == 0 ? fraction : fraction | 1u << kSingle.mantissa;
  const int cut = kSingle.mantissa - layout.mantissa + rebias(layout) + 1 - std::max(exponent, 1);
  return cut < 32 ? shift_round_even(significand, cut) : 0;
}

/// The bits of a NaN in `layout`. 16-bit types keep the leading bits of the payload; 8-bit types
/// get all bits set, as in PyTorch.
template <FloatLayout layout>
constexpr std::uint32_t nan_bits(std::uint32_t magnitude) {
  if (layout.bits() == 8) return static_cast<std::uint32_t>(layout.magnitude());
  const std::uint32_t payload = (magnitude - kInfinity) >> (kSingle.mantissa - layout.mantissa);
  return static_cast<std::uint32_t>(layout.overflow()) | std::max(payload, 1u);
}

}  // namespace small_float

/// The value of a float of 8 or 16 bits, exactly.
template <FloatLayout layout>
float float_from_bits(std::uint32_t bits) {
  using namespace small_float;
  const std::uint32_t magnitude = bits & static_cast<std::uint32_t>(layout.magnitude());
  const std::uint32_t sign = (bits ^ magnitude) << (32 - layout.bits());
  constexpr int kShift = kSingle.mantissa - layout.mantissa;
  std::uint32_t wide = magnitude << kShift;
  if (magnitude > layout.largest()) {
    wide |= kInfinity;
  } else if (magnitude >> layout.mantissa != 0) {
    wide += static_cast<std::uint32_t>(rebias(layout)) << kSingle.mantissa;
  } else {  // zero and subnormal numbers: multiples of the smallest subnormal
    constexpr int kExponent = 1 - layout.bias() - layout.mantissa;
    constexpr auto kStep =
        std::bit_cast<double>(static_cast<std::uint64_t>(1023 + kExponent) << 52);
    wide = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude * kStep));
  }
  return std::bit_cast<float>(sign | wide);
}

/// The bits of the nearest float of 8 or 16 bits, ties to even; overflow() for numbers too large.
template <FloatLayout layout>
std::uint32_t bits_from_float(float value) {
  using namespace small_float;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & static_cast<std::uint32_t>(kSingle.magnitude());
  const std::uint32_t sign = (bits ^ magnitude) >> (32 - layout.bits());
  if (magnitude > kInfinity) return sign | nan_bits<layout>(magnitude);
  constexpr auto kRebias = static_cast<std::uint32_t>(rebias(layout)) << kSingle.mantissa;
  constexpr auto kLeastNormal = kRebias + (1u << kSingle.mantissa);
  const std::uint32_t rounded =
      magnitude < kLeastNormal
          ? subnormal<layout>(magnitude)
          : shift_round_even(magnitude - kRebias, kSingle.mantissa - layout.mantissa);
  return sign | std::min(rounded, static_cast<std::uint32_t>(layout.overflow()));
}

}  // namespace maskctl
