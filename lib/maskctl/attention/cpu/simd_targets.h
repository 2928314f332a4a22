// The instruction sets that kernels are compiled for; included before Highway.
#pragma once

// Baseline, AVX2 and AVX-512: the sets in between gain nothing on these loops and cost compile
// time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
