// Packed products and exponentials, compiled for several instruction sets at once.
#include "maskctl/attention/core/cpu_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Baseline, AVX2 and AVX-512: the sets in between gain nothing on these loops and cost compile
// time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/attention/core/cpu_kernel.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

HWY_ATTR Index panel_width() { return 2 * static_cast<Index>(hn::Lanes(D())); }

HWY_ATTR void pack_rows_all(const float* src, Index stride, Index rows, Index columns, float* out) {
  const Index width = panel_width();
  const Index padded = round_up(columns, kColumnGroup);
  for (Index first = 0; first < padded; first += width) {
    const Index inside = std::clamp<Index>(columns - first, 0, width);
    for (Index row = 0; row < rows; ++row, out += width) {
      std::copy_n(src + row * stride + first, inside, out);
      std::fill(out + inside, out + width, 0.0f);
    }
  }
}

HWY_ATTR void pack_columns_all(const float* src, Index stride, Index rows, Index columns,
                               float* out) {
  const Index width = panel_width();
  const Index padded = round_up(rows, kColumnGroup);
  for (Index first = 0; first < padded; first += width, out += width * columns) {
    const Index inside = std::clamp<Index>(rows - first, 0, width);
    if (inside < width) std::fill(out, out + width * columns, 0.0f);
    for (Index w = 0; w < inside; ++w) {
      const float* row = src + (first + w) * stride;
      for (Index column = 0; column < columns; ++column) out[column * width + w] = row[column];
    }
  }
}

/// Six rows of C times one panel. Named accumulators: an array of vectors is spilled by GCC 12.
HWY_ATTR void multiply_six(const float* a, Index stride, Index depth, const float* panel, float* c,
                           Index c_stride, bool accumulate) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  float* const r0 = c;
  float* const r1 = c + c_stride;
  float* const r2 = c + 2 * c_stride;
  float* const r3 = c + 3 * c_stride;
  float* const r4 = c + 4 * c_stride;
  float* const r5 = c + 5 * c_stride;
  V c00 = hn::Zero(d), c01 = c00, c10 = c00, c11 = c00, c20 = c00, c21 = c00;
  V c30 = c00, c31 = c00, c40 = c00, c41 = c00, c50 = c00, c51 = c00;
  if (accumulate) {
    c00 = hn::LoadU(d, r0), c01 = hn::LoadU(d, r0 + n);
    c10 = hn::LoadU(d, r1), c11 = hn::LoadU(d, r1 + n);
    c20 = hn::LoadU(d, r2), c21 = hn::LoadU(d, r2 + n);
    c30 = hn::LoadU(d, r3), c31 = hn::LoadU(d, r3 + n);
    c40 = hn::LoadU(d, r4), c41 = hn::LoadU(d, r4 + n);
    c50 = hn::LoadU(d, r5), c51 = hn::LoadU(d, r5 + n);
  }
  for (Index k = 0; k < depth; ++k, panel += 2 * n) {
    const V b0 = hn::LoadU(d, panel), b1 = hn::LoadU(d, panel + n);
    V x = hn::Set(d, a[k]);
    c00 = hn::MulAdd(x, b0, c00), c01 = hn::MulAdd(x, b1, c01);
    x = hn::Set(d, a[k + stride]);
    c10 = hn::MulAdd(x, b0, c10), c11 = hn::MulAdd(x, b1, c11);
    x = hn::Set(d, a[k + 2 * stride]);
    c20 = hn::MulAdd(x, b0, c20), c21 = hn::MulAdd(x, b1, c21);
    x = hn::Set(d, a[k + 3 * stride]);
    c30 = hn::MulAdd(x, b0, c30), c31 = hn::MulAdd(x, b1, c31);
    x = hn::Set(d, a[k + 4 * stride]);
    c40 = hn::MulAdd(x, b0, c40), c41 = hn::MulAdd(x, b1, c41);
    x = hn::Set(d, a[k + 5 * stride]);
    c50 = hn::MulAdd(x, b0, c50), c51 = hn::MulAdd(x, b1, c51);
  }
  hn::StoreU(c00, d, r0), hn::StoreU(c01, d, r0 + n);
  hn::StoreU(c10, d, r1), hn::StoreU(c11, d, r1 + n);
  hn::StoreU(c20, d, r2), hn::StoreU(c21, d, r2 + n);
  hn::StoreU(c30, d, r3), hn::StoreU(c31, d, r3 + n);
  hn::StoreU(c40, d, r4), hn::StoreU(c41, d, r4 + n);
  hn::StoreU(c50, d, r5), hn::StoreU(c51, d, r5 + n);
}

HWY_ATTR void multiply_all(const float* a, Index a_stride, Index rows, Index depth,
                           const float* packed_b, Index columns, float* c, Index c_stride,
                           bool accumulate) {
  const Index width = panel_width();
  for (Index first = 0; first < columns; first += width, packed_b += width * depth) {
    for (Index row = 0; row < rows; row += kRowGroup) {
      multiply_six(a + row * a_stride, a_stride, depth, packed_b, c + row * c_stride + first,
                   c_stride, accumulate);
    }
  }
}

/// exp(x) by 2^n * 2^f, f in [-1/2, 1/2]: Taylor's series of 2^f to the sixth power, relative error
/// below 2e-7; 0 below the smallest normal number.
HWY_INLINE HWY_ATTR V exp_of(D d, V x) {
  const V t = hn::Mul(x, hn::Set(d, 1.44269504088896341f));
  const V clamped = hn::Min(hn::Max(t, hn::Set(d, -126.0f)), hn::Set(d, 127.0f));
  const V whole = hn::Round(clamped);
  const V f = hn::Sub(t, whole);  // of t itself, so that NaN stays NaN
  V p = hn::Set(d, 1.540353039338161e-4f);
  p = hn::MulAdd(p, f, hn::Set(d, 1.333355814642844e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 9.618129107628477e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.550410866482158e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.402265069591007e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.931471805599453e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const hn::RebindToSigned<D> di;
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127)));
  const V result = hn::Mul(p, hn::BitCast(d, exponent));
  return hn::IfThenZeroElse(hn::Lt(t, hn::Set(d, -126.0f)), result);
}

HWY_ATTR float max_all(const float* x, Index n) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  V top = hn::LoadU(d, x);
  for (Index i = step; i < n; i += step) top = hn::Max(top, hn::LoadU(d, x + i));
  return hn::GetLane(hn::MaxOfLanes(d, top));
}

HWY_ATTR float exp_sum_all(float* x, Index n, float shift) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V s = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for (Index i = 0; i < n; i += step) {
    const V e = exp_of(d, hn::Sub(hn::LoadU(d, x + i), s));
    hn::StoreU(e, d, x + i);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

HWY_ATTR void exp_shifted_all(float* x, const float* shift, Index n) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < n; i += step) {
    hn::StoreU(exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, shift + i))), d, x + i);
  }
}

HWY_ATTR void scale_all(float* x, Index n, float factor) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V f = hn::Set(d, factor);
  for (Index i = 0; i < n; i += step) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), f), d, x + i);
}

/// tanh(y) = sign(y) * (1 - e) / (1 + e), e = exp(-2|y|): nothing overflows. Near 0, where the
/// difference cancels, y - y^3 / 3 + 2 y^5 / 15.
HWY_INLINE HWY_ATTR V tanh_of(D d, V y) {
  const V size = hn::Abs(y);
  const V one = hn::Set(d, 1.0f);
  const V e = exp_of(d, hn::Mul(size, hn::Set(d, -2.0f)));
  const V large = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), y);
  const V square = hn::Mul(y, y);
  V p = hn::MulAdd(square, hn::Set(d, 2.0f / 15), hn::Set(d, -1.0f / 3));
  p = hn::MulAdd(p, square, one);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.1f)), hn::Mul(p, y), large);
}

HWY_ATTR void soft_cap_vector(float* x, Index n, float cap, float* slope) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V c = hn::Set(d, cap), inverse = hn::Set(d, 1 / cap), one = hn::Set(d, 1.0f);
  for (Index i = 0; i < n; i += step) {
    const V t = tanh_of(d, hn::Mul(hn::LoadU(d, x + i), inverse));
    hn::StoreU(hn::Mul(c, t), d, x + i);
    if (slope) hn::StoreU(hn::NegMulAdd(t, t, one), d, slope + i);
  }
}

HWY_ATTR void softmax_slope_all(const float* p, const float* dp, const float* delta, float* ds,
                                Index n) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < n; i += step) {
    const V gap = hn::Sub(hn::LoadU(d, dp + i), hn::LoadU(d, delta + i));
    hn::StoreU(hn::Mul(hn::LoadU(d, p + i), gap), d, ds + i);
  }
}

HWY_ATTR const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention {

HWY_EXPORT(panel_width);
HWY_EXPORT(pack_rows_all);
HWY_EXPORT(pack_columns_all);
HWY_EXPORT(multiply_all);
HWY_EXPORT(max_all);
HWY_EXPORT(exp_sum_all);
HWY_EXPORT(exp_shifted_all);
HWY_EXPORT(scale_all);
HWY_EXPORT(soft_cap_vector);
HWY_EXPORT(softmax_slope_all);
HWY_EXPORT(target_name);

Index panel_columns() { return HWY_DYNAMIC_DISPATCH(panel_width)(); }

void pack_rows(const float* src, Index stride, Index rows, Index columns, float* out) {
  HWY_DYNAMIC_DISPATCH(pack_rows_all)(src, stride, rows, columns, out);
}

void pack_columns(const float* src, Index stride, Index rows, Index columns, float* out) {
  HWY_DYNAMIC_DISPATCH(pack_columns_all)(src, stride, rows, columns, out);
}

void multiply(const float* a, Index a_stride, Index rows, Index depth, const float* packed_b,
              Index columns, float* c, Index c_stride, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(multiply_all)
  (a, a_stride, rows, depth, packed_b, columns, c, c_stride, accumulate);
}

float max_of(const float* x, Index n) { return HWY_DYNAMIC_DISPATCH(max_all)(x, n); }

float exp_and_sum(float* x, Index n, float shift) {
  return HWY_DYNAMIC_DISPATCH(exp_sum_all)(x, n, shift);
}

void exp_shifted(float* x, const float* shift, Index n) {
  HWY_DYNAMIC_DISPATCH(exp_shifted_all)(x, shift, n);
}

void scale_by(float* x, Index n, float factor) { HWY_DYNAMIC_DISPATCH(scale_all)(x, n, factor); }

void soft_cap_all(float* x, Index n, float cap, float* slope) {
  HWY_DYNAMIC_DISPATCH(soft_cap_vector)(x, n, cap, slope);
}

void softmax_slope(const float* p, const float* dp, const float* delta, float* ds, Index n) {
  HWY_DYNAMIC_DISPATCH(softmax_slope_all)(p, dp, delta, ds, n);
}

const char* cpu_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace maskctl::attention
#endif  // HWY_ONCE
