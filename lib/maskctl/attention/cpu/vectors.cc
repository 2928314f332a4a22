// Exponentials and other functions of vectors, compiled for several instruction sets.
#include <cstring>
#include <limits>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/attention/cpu/vectors.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// This header needs highway.h.
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

/// exp(x) as 2^n * 2^f with f in [-1/2, 1/2]. 2^f is a polynomial that is 1 at 0 and has the least
/// relative error, 9e-8 (2e-7 in f32). The result is 0 where exp(x) < 2^-126, and infinite from x =
/// 89 on.
HWY_INLINE HWY_ATTR V exp_of(D d, V x) {
  const V least = hn::Set(d, -126.0f);
  // Adding this constant rounds to an integer n, and leaves n + 127 (the biased exponent) in the
  // lowest bits.
  const V shifter = hn::Set(d, 12582912.0f + 127);
  const V t = hn::Mul(x, hn::Set(d, 1.44269504088896341f));
  const V shifted = hn::Add(hn::Min(hn::Max(t, least), hn::Set(d, 127.0f)), shifter);
  const V f = hn::Sub(t, hn::Sub(shifted, shifter));  // uses the unclamped t, so that NaN stays NaN
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
  // Sums of 0 * x, which are 0 if all x are finite, and NaN otherwise.
  V even = zero, odd = zero;
  Index i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    even = hn::MulAdd(hn::LoadU(d, x + i), zero, even);
    odd = hn::MulAdd(hn::LoadU(d, x + i + step), zero, odd);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < n; ++i) sum += 0 * x[i];
  return sum == 0;
}

HWY_ATTR void fill_closed_all(const std::uint64_t* open, Index first, Index n, float value,
                              float* x) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V closed = hn::Set(d, value);
  for (Index i = 0; i < n; i += step) {
    const std::uint64_t bits = open[(first + i) / 64] >> ((first + i) % 64);
    std::uint8_t bytes[8];
    std::memcpy(bytes, &bits, 8);
    const auto is_open = hn::LoadMaskBits(d, bytes);
    hn::StoreU(hn::IfThenElse(is_open, hn::LoadU(d, x + i), closed), d, x + i);
  }
}

HWY_ATTR float dot_all(const float* x, const float* y, Index n) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  V sums = hn::Zero(d);
  Index i = 0;
  for (; i + step <= n; i += step)
    sums = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sums);
  float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// These functions process two vectors at a time: n must be a multiple of two vectors of any
// instruction set.

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

HWY_ATTR void max_group(const float* x, Index stride, Index n, float* most) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  for (Index r = 0; r < kRowGroup; ++r, x += stride) {
    V all = hn::LoadU(d, x);
    for (Index i = step; i < n; i += step) all = hn::Max(all, hn::LoadU(d, x + i));
    most[r] = hn::GetLane(hn::MaxOfLanes(d, all));
  }
}

// Processes three rows at a time, because the steps of a single exponential depend on each other.
HWY_ATTR void exp_sum_group(float* x, Index stride, Index n, const float* shift, float* sum) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  for (Index r = 0; r < kRowGroup; r += 3) {
    float* const row0 = x + r * stride;
    float* const row1 = row0 + stride;
    float* const row2 = row1 + stride;
    const V s0 = hn::Set(d, shift[r]), s1 = hn::Set(d, shift[r + 1]), s2 = hn::Set(d, shift[r + 2]);
    V sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0;
    for (Index i = 0; i < n; i += step) {
      const V e0 = exp_of(d, hn::Sub(hn::LoadU(d, row0 + i), s0));
      const V e1 = exp_of(d, hn::Sub(hn::LoadU(d, row1 + i), s1));
      const V e2 = exp_of(d, hn::Sub(hn::LoadU(d, row2 + i), s2));
      hn::StoreU(e0, d, row0 + i), sum0 = hn::Add(sum0, e0);
      hn::StoreU(e1, d, row1 + i), sum1 = hn::Add(sum1, e1);
      hn::StoreU(e2, d, row2 + i), sum2 = hn::Add(sum2, e2);
    }
    sum[r] = hn::GetLane(hn::SumOfLanes(d, sum0));
    sum[r + 1] = hn::GetLane(hn::SumOfLanes(d, sum1));
    sum[r + 2] = hn::GetLane(hn::SumOfLanes(d, sum2));
  }
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

HWY_ATTR void scale_rows_all(const float* x, Index stride, Index rows, Index n,
                             const float* factors, float* out, Index out_stride) {
  for (Index r = 0; r < rows; ++r) scale_all(x + r * stride, n, factors[r], out + r * out_stride);
}

HWY_ATTR void log_vector(const float* x, Index n, float* out) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < n; i += step) {
    const V v = hn::LoadU(d, x + i);
    const V finite = hn::IfThenElse(hn::Gt(v, hn::Zero(d)), hn::Log(d, v), hn::Sub(v, v));
    hn::StoreU(hn::IfThenElse(hn::Eq(v, hn::Zero(d)),
                              hn::Set(d, -std::numeric_limits<float>::infinity()), finite),
               d, out + i);
  }
}

/// tanh(y) = sign(y) * (1 - e) / (1 + e) with e = exp(-2|y|), which cannot overflow. For small |y|,
/// where 1 - e would cancel, the result is y - y^3 / 3 + 2 y^5 / 15.
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

HWY_ATTR void soft_cap_vector(float* x, Index n, float cap, float* derivative) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const V c = hn::Set(d, cap), inverse = hn::Set(d, 1 / cap), one = hn::Set(d, 1.0f);
  for (Index i = 0; i < n; i += step) {
    const V t = tanh_of(d, hn::Mul(hn::LoadU(d, x + i), inverse));
    hn::StoreU(hn::Mul(c, t), d, x + i);
    if (derivative) hn::StoreU(hn::NegMulAdd(t, t, one), d, derivative + i);
  }
}

HWY_ATTR void softmax_gradient_all(const float* p, const float* dp, const float* delta, float* ds,
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

HWY_EXPORT(dot_all);
HWY_EXPORT(all_finite_all);
HWY_EXPORT(max_all);
HWY_EXPORT(exp_sum_all);
HWY_EXPORT(max_group);
HWY_EXPORT(exp_sum_group);
HWY_EXPORT(exp_shifted_all);
HWY_EXPORT(scale_all);
HWY_EXPORT(scale_rows_all);
HWY_EXPORT(log_vector);
HWY_EXPORT(soft_cap_vector);
HWY_EXPORT(softmax_gradient_all);
HWY_EXPORT(fill_closed_all);

float dot(const float* x, const float* y, Index n) {
  return HWY_DYNAMIC_DISPATCH(dot_all)(x, y, n);
}

bool all_finite(const float* x, Index n) { return HWY_DYNAMIC_DISPATCH(all_finite_all)(x, n); }

float max_of(const float* x, Index n) { return HWY_DYNAMIC_DISPATCH(max_all)(x, n); }

float exp_and_sum(float* x, Index n, float shift) {
  return HWY_DYNAMIC_DISPATCH(exp_sum_all)(x, n, shift);
}

void max_of_group(const float* x, Index stride, Index n, float* most) {
  HWY_DYNAMIC_DISPATCH(max_group)(x, stride, n, most);
}

void exp_and_sum_group(float* x, Index stride, Index n, const float* shift, float* sum) {
  HWY_DYNAMIC_DISPATCH(exp_sum_group)(x, stride, n, shift, sum);
}

void exp_shifted(float* x, const float* shift, Index n) {
  HWY_DYNAMIC_DISPATCH(exp_shifted_all)(x, shift, n);
}

void fill_closed(const std::uint64_t* open, Index first, Index n, float value, float* x) {
  HWY_DYNAMIC_DISPATCH(fill_closed_all)(open, first, n, value, x);
}

void scale(const float* x, Index n, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(scale_all)(x, n, factor, out);
}

void scale_rows(const float* x, Index stride, Index rows, Index n, const float* factors, float* out,
                Index out_stride) {
  HWY_DYNAMIC_DISPATCH(scale_rows_all)(x, stride, rows, n, factors, out, out_stride);
}

void log_all(const float* x, Index n, float* out) { HWY_DYNAMIC_DISPATCH(log_vector)(x, n, out); }

void soft_cap_all(float* x, Index n, float cap, float* derivative) {
  HWY_DYNAMIC_DISPATCH(soft_cap_vector)(x, n, cap, derivative);
}

void softmax_gradient(const float* p, const float* dp, const float* delta, float* ds, Index n) {
  HWY_DYNAMIC_DISPATCH(softmax_gradient_all)(p, dp, delta, ds, n);
}

}  // namespace maskctl::attention
#endif  // HWY_ONCE
