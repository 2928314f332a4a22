// Loops over rows of f32 with no overlap of the arrays, which the compiler turns into vectors.
#pragma once

#include <numeric>

#include "maskctl/base/index.h"

namespace maskctl::attention {

inline void add_to(const float* __restrict from, Index n, float* __restrict to) {
  for (Index x = 0; x < n; ++x) to[x] += from[x];
}
inline void multiply_by(const float* __restrict factors, Index n, float* __restrict to) {
  for (Index x = 0; x < n; ++x) to[x] *= factors[x];
}
inline void divide_by(const float* __restrict divisors, Index n, float* __restrict to) {
  for (Index x = 0; x < n; ++x) to[x] /= divisors[x];
}
inline void scaled_copy(const float* __restrict from, float factor, Index n, float* __restrict to) {
  for (Index x = 0; x < n; ++x) to[x] = from[x] * factor;
}

/// to[x] += sign * a[x] * b[x].
inline void add_products(const float* __restrict a, const float* __restrict b, double sign, Index n,
                         double* __restrict to) {
  for (Index x = 0; x < n; ++x) to[x] += sign * static_cast<double>(a[x] * b[x]);
}

/// to = a / b, or +=.
inline void put_quotients(const float* __restrict a, const float* __restrict b, Index n, bool adds,
                          float* __restrict to) {
  if (adds) {
    for (Index x = 0; x < n; ++x) to[x] += a[x] / b[x];
  } else {
    for (Index x = 0; x < n; ++x) to[x] = a[x] / b[x];
  }
}

/// The sum of term(0 .. n - 1), in lanes.
template <class F>
double sum_of(Index n, F&& term) {
  constexpr Index kLanes = 8;
  double sums[kLanes] = {};
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (Index lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  }
  for (; i < n; ++i) sums[0] += term(i);
  return std::accumulate(sums, sums + kLanes, 0.0);
}

}  // namespace maskctl::attention
