// bfloat16 for emulated kernels: see cuda_runtime.h.
#pragma once

#include "maskctl/tensor/convert.h"

struct __nv_bfloat16 {
  std::uint16_t bits;
};
inline float __bfloat162float(__nv_bfloat16 x) { return maskctl::float_from_bfloat16(x.bits); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return {maskctl::bfloat16_from_float(x)}; }
