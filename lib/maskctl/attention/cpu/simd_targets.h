// The instruction sets that kernels are compiled for. Include it before Highway.
#pragma once

// Leaves the baseline, AVX2 and AVX-512, and NEON on ARM. Most instruction sets that are disabled
// here gain nothing in these loops, and cost compile time; vectors of SVE have no size that a
// compiler knows, and structs here hold vectors.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
