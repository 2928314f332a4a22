// Half precision for emulated kernels: see cuda_runtime.h.
#pragma once

#include "maskctl/tensor/element_types.h"

struct __half {
  std::uint16_t bits;
};
// Inline, unlike the library's conversions: a product converts all elements of its operands.
inline constexpr maskctl::FloatLayout kHalfLayout =
    maskctl::element_type(maskctl::DType::kFloat16).layout;
inline float __half2float(__half x) { return maskctl::float_from_bits<kHalfLayout>(x.bits); }
inline __half __float2half_rn(float x) {
  return {static_cast<std::uint16_t>(maskctl::bits_from_float<kHalfLayout>(x))};
}
