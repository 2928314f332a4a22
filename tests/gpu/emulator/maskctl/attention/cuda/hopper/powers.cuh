// Emulated: see lib.
#pragma once

#include <cmath>

namespace maskctl::attention::cuda::hopper {

inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

inline float exp2_approximate(float x) { return std::exp2(x); }

}  // namespace maskctl::attention::cuda::hopper
