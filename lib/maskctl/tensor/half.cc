// The 16-bit floats, IEEE half and bfloat16, converted to and from float.
#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl {
namespace {

constexpr FloatLayout kHalf = element_type(DType::kFloat16).layout;
constexpr FloatLayout kBFloat16 = element_type(DType::kBFloat16).layout;

}  // namespace

float float_from_half(std::uint16_t bits) { return float_from_bits<kHalf>(bits); }

std::uint16_t half_from_float(float value) {
  return static_cast<std::uint16_t>(bits_from_float<kHalf>(value));
}

float float_from_bfloat16(std::uint16_t bits) { return float_from_bits<kBFloat16>(bits); }

std::uint16_t bfloat16_from_float(float value) {
  return static_cast<std::uint16_t>(bits_from_float<kBFloat16>(value));
}

}  // namespace maskctl
