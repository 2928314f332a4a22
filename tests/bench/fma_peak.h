// Measures how many multiply-adds the machine can do at the moment, to compare attention with.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "bench.h"
#include "maskctl/base/threads.h"

namespace bench {

/// Does twelve independent chains of multiply-adds in registers, without memory; twelve hide the
/// latency. Named accumulators stay in registers, where GCC would spill an array.
#define BENCH_FMA_CHAINS(type, fma, set)                                                           \
  type c0 = set(0.f), c1 = set(1.f), c2 = set(2.f), c3 = set(3.f), c4 = set(4.f), c5 = set(5.f),   \
       c6 = set(6.f), c7 = set(7.f), c8 = set(8.f), c9 = set(9.f), ca = set(1.5f), cb = set(2.5f); \
  const type x = set(0.999f), y = set(0.001f);                                                     \
  for (long n = 0; n < rounds; ++n) {                                                              \
    c0 = fma(c0, x, y), c1 = fma(c1, x, y), c2 = fma(c2, x, y), c3 = fma(c3, x, y);                \
    c4 = fma(c4, x, y), c5 = fma(c5, x, y), c6 = fma(c6, x, y), c7 = fma(c7, x, y);                \
    c8 = fma(c8, x, y), c9 = fma(c9, x, y), ca = fma(ca, x, y), cb = fma(cb, x, y);                \
  }                                                                                                \
  c0 += c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + ca + cb;                                      \
  keep(c0)

__attribute__((target("avx512f"))) inline void fma_rounds_512(long rounds) {
  BENCH_FMA_CHAINS(__m512, _mm512_fmadd_ps, _mm512_set1_ps);
}
__attribute__((target("avx2,fma"))) inline void fma_rounds_256(long rounds) {
  BENCH_FMA_CHAINS(__m256, _mm256_fmadd_ps, _mm256_set1_ps);
}
#undef BENCH_FMA_CHAINS

/// Returns the GFLOP/s of all threads together, each of which does about `rounds` * 12 vector
/// multiply-adds.
inline double fma_peak(long rounds = 2'000'000) {
  const bool wide = __builtin_cpu_supports("avx512f");
  const int workers = maskctl::threads();
  const double spent = seconds([&] {
    maskctl::parallel_for(
        workers, [&](maskctl::Index) { wide ? fma_rounds_512(rounds) : fma_rounds_256(rounds); });
  });
  return 2.0 * 12 * (wide ? 16 : 8) * static_cast<double>(rounds) * workers / spent / 1e9;
}

}  // namespace bench
