// Exponentials as powers of two, for kernels on Hopper GPUs.
#pragma once

namespace maskctl::attention::cuda::hopper {

inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

/// 2^x by the special function unit, with a relative error of 2^-22; 0 for -inf.
__device__ inline float exp2_approximate(float x) {
#if defined(MASKCTL_CUDA_EMULATED)
  return exp2f(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

}  // namespace maskctl::attention::cuda::hopper
