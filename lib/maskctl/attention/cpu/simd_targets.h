// The instruction sets that kernels are compiled for. Include it before Highway.
#pragma once

// Leaves the baseline, AVX2 and AVX-512. The instruction sets that are disabled here gain nothing
// in these loops, and cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
