// Plain loops that the compiler vectorizes for each instruction set.
#include "maskctl/kernels/cpu/linear/vectors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "maskctl/attention/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/kernels/cpu/linear/vectors.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// Stands before a loop and tells the compiler that no iteration reads what another one writes.
#if defined(__clang__)
#define MASKCTL_INDEPENDENT_ROUNDS _Pragma("clang loop vectorize(assume_safety)")
#else
#define MASKCTL_INDEPENDENT_ROUNDS _Pragma("GCC ivdep")
#endif

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention {
namespace HWY_NAMESPACE {

enum class Cells { kNone, kMultiply, kDivide };

template <Cells kCells, bool kColumns, bool kAdds>
HWY_ATTR void scale_as(const Rows& from, Index count, Index width, const Scaling& by,
                       const RowsOf<float>& to) {
  for (Index t = 0; t < count; ++t) {
    const float factor = by.by_row ? by.factor * by.by_row[t] : by.factor;
    const float *const in = from.row(t), *const cells = by.cells + (by.cells ? t * width : 0);
    float* const out = to.row(t);
    MASKCTL_INDEPENDENT_ROUNDS
    for (Index x = 0; x < width; ++x) {
      float y = in[x] * factor;
      if constexpr (kColumns) y *= by.by_column[x];
      if constexpr (kCells == Cells::kMultiply) y *= cells[x];
      if constexpr (kCells == Cells::kDivide) y /= cells[x];
      out[x] = kAdds ? out[x] + y : y;
    }
  }
}

template <Cells kCells>
HWY_ATTR void scale_by_cells(const Rows& from, Index count, Index width, const Scaling& by,
                             const RowsOf<float>& to, bool adds) {
  if (by.by_column) {
    adds ? scale_as<kCells, true, true>(from, count, width, by, to)
         : scale_as<kCells, true, false>(from, count, width, by, to);
  } else {
    adds ? scale_as<kCells, false, true>(from, count, width, by, to)
         : scale_as<kCells, false, false>(from, count, width, by, to);
  }
}

HWY_ATTR void scale_all_rows(const Rows& from, Index count, Index width, const Scaling& by,
                             const RowsOf<float>& to, bool adds) {
  if (!by.cells) return scale_by_cells<Cells::kNone>(from, count, width, by, to, adds);
  if (by.divides) return scale_by_cells<Cells::kDivide>(from, count, width, by, to, adds);
  scale_by_cells<Cells::kMultiply>(from, count, width, by, to, adds);
}

HWY_ATTR void mask_all_later(const RowsOf<float>& scores, Range tokens, const float* pair,
                             Index pair_stride, float* own) {
  for (Index t = tokens.begin; t < tokens.end; ++t) {
    float* const row = scores.row(t);
    const float* const factors = pair + (pair ? t * pair_stride : 0);
    MASKCTL_INDEPENDENT_ROUNDS
    for (Index s = 0; pair && s < t; ++s) row[s] *= factors[s];
    const Index end = std::min(t + 1 + kRowGroup, scores.stride);
    for (Index s = t + 1; s < end; ++s) row[s] = 0;
    if (own) own[t] = std::exchange(row[t], 0.0f);
  }
}

/// sum = before + gate. Returns whether all sums are within +-kMaxLogDecay (and not NaN).
HWY_INLINE HWY_ATTR bool add_gates(const float* before, const float* gate, Index n, float* sum) {
  int outside = 0;  // combined by |, which GCC vectorizes
  MASKCTL_INDEPENDENT_ROUNDS
  for (Index x = 0; x < n; ++x) {
    const float y = before[x] + gate[x];
    sum[x] = y;
    outside |= !(std::abs(y) <= kMaxLogDecay);
  }
  return outside == 0;
}

HWY_ATTR Index sum_all_gates(std::span<const Rows> gates, Index count, Index width, float* sums) {
  std::fill_n(sums, width, 0.0f);
  for (Index t = 1; t < count; ++t) {
    float* const sum = sums + t * width;
    const float* before = sum - width;
    bool inside = true;
    for (const Rows& gate : gates) {
      if (!gate) continue;
      inside = add_gates(before, gate.row(t), width, sum);
      before = sum;
    }
    if (!inside) return t;
  }
  return count;
}

/// The sum of n numbers, accumulated in 8 lanes.
HWY_INLINE HWY_ATTR double sum_lanes(const double* from, Index n) {
  constexpr Index kLanes = 8;
  double lanes[kLanes] = {};
  Index x = 0;
  for (; x + kLanes <= n; x += kLanes) {
    for (Index i = 0; i < kLanes; ++i) lanes[i] += from[x + i];
  }
  for (; x < n; ++x) lanes[0] += from[x];
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

HWY_ATTR void carry_row(const float* __restrict a, const float* __restrict b,
                        const float* __restrict c, const float* __restrict d, Index width,
                        double* __restrict carry, float* __restrict sums) {
  for (Index x = 0; x < width; ++x) {
    carry[x] += static_cast<double>(a[x] * b[x]) - static_cast<double>(c[x] * d[x]);
    sums[x] = static_cast<float>(carry[x]);
  }
}

HWY_ATTR void sum_all_back(const RowPair& plus, const RowPair& minus, Range tokens, Index width,
                           double* carry, float* sums, double* totals) {
  for (Index t = tokens.end; t-- > tokens.begin;) {
    carry_row(plus.a.row(t), plus.b.row(t), minus.a.row(t), minus.b.row(t), width, carry,
              sums + t * width);
    if (totals) totals[t] = sum_lanes(carry, width);
  }
}

HWY_INLINE HWY_ATTR double dot_lanes(const float* a, const float* b, Index n) {
  constexpr Index kLanes = 8;
  double lanes[kLanes] = {};
  Index x = 0;
  for (; x + kLanes <= n; x += kLanes) {
    for (Index i = 0; i < kLanes; ++i) lanes[i] += static_cast<double>(a[x + i] * b[x + i]);
  }
  for (; x < n; ++x) lanes[0] += static_cast<double>(a[x] * b[x]);
  return sum_lanes(lanes, kLanes);
}

HWY_ATTR void add_row_products(const float* __restrict a, const float* __restrict b, Index n,
                               double* __restrict to) {
  for (Index y = 0; y < n; ++y) to[y] += static_cast<double>(a[y] * b[y]);
}

HWY_ATTR void sum_all_products(const float* a, const float* b, Index stride, Index rows,
                               Index columns, double* by_row, double* by_column) {
  if (by_column) std::fill_n(by_column, columns, 0.0);
  for (Index x = 0; x < rows; ++x, a += stride, b += stride) {
    by_row[x] = dot_lanes(a, b, columns);
    if (by_column) add_row_products(a, b, columns, by_column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention {

HWY_EXPORT(scale_all_rows);
HWY_EXPORT(mask_all_later);
HWY_EXPORT(sum_all_gates);
HWY_EXPORT(sum_all_back);
HWY_EXPORT(sum_all_products);

void scale_rows(const Rows& from, Index count, Index width, const Scaling& by,
                const RowsOf<float>& to, bool adds) {
  HWY_DYNAMIC_DISPATCH(scale_all_rows)(from, count, width, by, to, adds);
}

void mask_later(const RowsOf<float>& scores, Range tokens, const float* pair, Index pair_stride,
                float* own) {
  HWY_DYNAMIC_DISPATCH(mask_all_later)(scores, tokens, pair, pair_stride, own);
}

Index sum_gates(std::span<const Rows> gates, Index count, Index width, float* sums) {
  return HWY_DYNAMIC_DISPATCH(sum_all_gates)(gates, count, width, sums);
}

void sum_back(const RowPair& plus, const RowPair& minus, Range tokens, Index width, double* carry,
              float* sums, double* totals) {
  HWY_DYNAMIC_DISPATCH(sum_all_back)(plus, minus, tokens, width, carry, sums, totals);
}

void sum_products(const float* a, const float* b, Index stride, Index rows, Index columns,
                  double* by_row, double* by_column) {
  HWY_DYNAMIC_DISPATCH(sum_all_products)(a, b, stride, rows, columns, by_row, by_column);
}

}  // namespace maskctl::attention
#endif  // HWY_ONCE
