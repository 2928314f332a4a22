// Half precision for emulated kernels: see cuda_runtime.h.
#pragma once

#include "maskctl/tensor/convert.h"

struct __half {
  std::uint16_t bits;
};
inline float __half2float(__half x) { return maskctl::float_from_half(x.bits); }
inline __half __float2half_rn(float x) { return {maskctl::half_from_float(x)}; }
