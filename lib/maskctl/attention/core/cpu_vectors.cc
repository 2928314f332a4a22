// Vectors of exponentials and what goes with them, compiled for several instruction sets at once.
#include <cmath>

#include "maskctl/attention/core/cpu_kernel.h"
#include "maskctl/attention/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/attention/core/cpu_vectors.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

/// exp(x) by 2^n * 2^f, f in [-1/2, 1/2]: the polynomial of least relative error among those that
/// are 1 at 0, 9e-8 (2e-7 in f32). 0 below the smallest normal number, infinite from 89 on.
HWY_INLINE HWY_ATTR V exp_of(D d, V x) {
  const V least = hn::Set(d, -126.0f);
  // Adding it rounds to whole numbers n, and leaves n + 127 in the lowest bits.
  const V shifter = hn::Set(d, 12582912.0f + 127);
  const V t = hn::Mul(x, hn::Set(d, 1.44269504088896341f));
  const V shifted = hn::Add(hn::Min(hn::Max(t, least), hn::Set(d, 127.0f)), shifter);
  const V f = hn::Sub(t, hn::Sub(shifted, shifter));  // of t itself, so that NaN stays NaN
  V p = hn::Set(d, 1.326472731307149e-3f);
  p = hn::MulAdd(p, f, hn::Set(d, 9.671512991189957e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.550733581185341e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.402224242687225e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.931470036506653e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(hn::RebindToSigned<D>(), shifted)));
  return hn::IfThenZeroElse(hn::Lt(t, least), hn::Mul(p, power));
}

HWY_ATTR bool all_finite_all(const float* x, Index n) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V zero = hn::Zero(d);
  V even = zero, odd = zero;  // 0 * x is 0 unless x is NaN or infinite
  Index i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    even = hn::MulAdd(hn::LoadU(d, x + i), zero, even);
    odd = hn::MulAdd(hn::LoadU(d, x + i + step), zero, odd);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < n; ++i) sum += 0 * x[i];
  return sum == 0;
}

// Two vectors at a time: n divides by two of any instruction set.

HWY_ATTR float max_all(const float* x, Index n) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  V even = hn::LoadU(d, x), odd = hn::LoadU(d, x + step);
  for (Index i = 2 * step; i < n; i += 2 * step) {
    even = hn::Max(even, hn::LoadU(d, x + i));
    odd = hn::Max(odd, hn::LoadU(d, x + i + step));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(even, odd)));
}

HWY_ATTR float exp_sum_all(float* x, Index n, float shift) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V s = hn::Set(d, shift);
  V even = hn::Zero(d), odd = even;
  for (Index i = 0; i < n; i += 2 * step) {
    const V a = exp_of(d, hn::Sub(hn::LoadU(d, x + i), s));
    const V b = exp_of(d, hn::Sub(hn::LoadU(d, x + i + step), s));
    hn::StoreU(a, d, x + i);
    hn::StoreU(b, d, x + i + step);
    even = hn::Add(even, a);
    odd = hn::Add(odd, b);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

HWY_ATTR void exp_shifted_all(float* x, const float* shift, Index n) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < n; i += step) {
    hn::StoreU(exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, shift + i))), d, x + i);
  }
}

HWY_ATTR void scale_all(const float* x, Index n, float factor, float* out) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V f = hn::Set(d, factor);
  Index i = 0;
  for (; i + step <= n; i += step) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), f), d, out + i);
  for (; i < n; ++i) out[i] = x[i] * factor;
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

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention {

HWY_EXPORT(all_finite_all);
HWY_EXPORT(max_all);
HWY_EXPORT(exp_sum_all);
HWY_EXPORT(exp_shifted_all);
HWY_EXPORT(scale_all);
HWY_EXPORT(soft_cap_vector);
HWY_EXPORT(softmax_slope_all);

bool all_finite(const float* x, Index n) { return HWY_DYNAMIC_DISPATCH(all_finite_all)(x, n); }

float max_of(const float* x, Index n) { return HWY_DYNAMIC_DISPATCH(max_all)(x, n); }

float exp_and_sum(float* x, Index n, float shift) {
  return HWY_DYNAMIC_DISPATCH(exp_sum_all)(x, n, shift);
}

void exp_shifted(float* x, const float* shift, Index n) {
  HWY_DYNAMIC_DISPATCH(exp_shifted_all)(x, shift, n);
}

void scale(const float* x, Index n, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(scale_all)(x, n, factor, out);
}

void soft_cap_all(float* x, Index n, float cap, float* slope) {
  HWY_DYNAMIC_DISPATCH(soft_cap_vector)(x, n, cap, slope);
}

void softmax_slope(const float* p, const float* dp, const float* delta, float* ds, Index n) {
  HWY_DYNAMIC_DISPATCH(softmax_slope_all)(p, dp, delta, ds, n);
}

}  // namespace maskctl::attention
#endif  // HWY_ONCE
