// The instruction sets that kernels are compiled for. Include it before Highway.
#pragma once

// Disables all instruction sets but the baseline, AVX2, AVX-512 and, on ARM, NEON. Most of the
// others gain nothing in these loops and cost compile time. SVE is disabled because its vectors
// have no size known at compile time, and structs here hold vectors.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
