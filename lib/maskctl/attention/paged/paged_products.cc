// Compiled for several instruction sets at once.
#include "maskctl/attention/paged/paged_products.h"

#include <algorithm>
#include <array>

#include "maskctl/attention/core/simd_targets.h"
#include "maskctl/tensor/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/attention/paged/paged_products.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

constexpr Index kRows = 4;  // at a time

template <class T>
using RowsAtOnce = std::array<const T*, kRows>;

HWY_INLINE HWY_ATTR V load(D d, const float* p) { return hn::LoadU(d, p); }
template <class Half>
HWY_INLINE HWY_ATTR V load(D d, const Half* p) {
  const hn::Rebind<Half, D> half;
  return hn::PromoteTo(d, hn::LoadU(half, p));
}

HWY_INLINE float scalar(float x) { return x; }
HWY_INLINE float scalar(hwy::bfloat16_t x) { return float_from_bfloat16(x.bits); }
HWY_INLINE float scalar(hwy::float16_t x) { return float_from_half(x.bits); }

#if HWY_TARGET == HWY_SCALAR

/// out[i] = the sum of the lanes of v_i.
HWY_INLINE HWY_ATTR void store_sums(V v0, V v1, V v2, V v3, float* out) {
  const V all[] = {v0, v1, v2, v3};
  for (Index i = 0; i < 4; ++i) out[i] = hn::GetLane(all[i]);
}

#else

/// The sums of v in each place of a block of four lanes.
template <class Tag>
HWY_INLINE HWY_ATTR hn::Vec<hn::CappedTag<float, 4> > sum_blocks(Tag d, hn::Vec<Tag> v) {
  if constexpr (hn::MaxLanes(Tag()) > 4) {
    const hn::Half<Tag> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    (void)d;
    return v;
  }
}

/// out[i] = the sum of the lanes of v_i: four sums for little more than the price of one.
HWY_INLINE HWY_ATTR void store_sums(V v0, V v1, V v2, V v3, float* out) {
  const D d;
  const hn::Repartition<double, D> pairs;
  const V v01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
  const V v23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
  const auto p01 = hn::BitCast(pairs, v01), p23 = hn::BitCast(pairs, v23);
  const V all = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, p01, p23)),
                        hn::BitCast(d, hn::InterleaveUpper(pairs, p01, p23)));
  hn::StoreU(sum_blocks(d, all), hn::CappedTag<float, 4>(), out);
}

#endif

/// Four rows against one query: out[i] = row i . query.
template <class T>
HWY_INLINE HWY_ATTR void dots_of_one(const RowsAtOnce<T>& row, const float* q, Index dim,
                                     float* out) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  Index x = 0;
  for (; x + n <= dim; x += n) {
    const V a = hn::LoadU(d, q + x);
    s0 = hn::MulAdd(a, load(d, row[0] + x), s0), s1 = hn::MulAdd(a, load(d, row[1] + x), s1);
    s2 = hn::MulAdd(a, load(d, row[2] + x), s2), s3 = hn::MulAdd(a, load(d, row[3] + x), s3);
  }
  store_sums(s0, s1, s2, s3, out);
  for (; x < dim; ++x) {
    for (std::size_t i = 0; i < kRows; ++i) out[i] += q[x] * scalar(row[i][x]);
  }
}

/// Four rows against four queries, each element of which is loaded once. Named accumulators: GCC 12
/// spills an array of vectors.
template <class T>
HWY_INLINE HWY_ATTR void dots_of_four(const RowsAtOnce<T>& row, const float* q, Index dim,
                                      float* out, Index stride) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  V c0 = a0, c1 = a0, c2 = a0, c3 = a0, e0 = a0, e1 = a0, e2 = a0, e3 = a0;
  Index x = 0;
  for (; x + n <= dim; x += n) {
    const V r0 = load(d, row[0] + x), r1 = load(d, row[1] + x);
    const V r2 = load(d, row[2] + x), r3 = load(d, row[3] + x);
    V y = hn::LoadU(d, q + x);
    a0 = hn::MulAdd(y, r0, a0), a1 = hn::MulAdd(y, r1, a1);
    a2 = hn::MulAdd(y, r2, a2), a3 = hn::MulAdd(y, r3, a3);
    y = hn::LoadU(d, q + dim + x);
    b0 = hn::MulAdd(y, r0, b0), b1 = hn::MulAdd(y, r1, b1);
    b2 = hn::MulAdd(y, r2, b2), b3 = hn::MulAdd(y, r3, b3);
    y = hn::LoadU(d, q + 2 * dim + x);
    c0 = hn::MulAdd(y, r0, c0), c1 = hn::MulAdd(y, r1, c1);
    c2 = hn::MulAdd(y, r2, c2), c3 = hn::MulAdd(y, r3, c3);
    y = hn::LoadU(d, q + 3 * dim + x);
    e0 = hn::MulAdd(y, r0, e0), e1 = hn::MulAdd(y, r1, e1);
    e2 = hn::MulAdd(y, r2, e2), e3 = hn::MulAdd(y, r3, e3);
  }
  store_sums(a0, a1, a2, a3, out);
  store_sums(b0, b1, b2, b3, out + stride);
  store_sums(c0, c1, c2, c3, out + 2 * stride);
  store_sums(e0, e1, e2, e3, out + 3 * stride);
  for (; x < dim; ++x) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const float r = scalar(row[i][x]);
      for (Index g = 0; g < 4; ++g) out[g * stride + static_cast<Index>(i)] += q[g * dim + x] * r;
    }
  }
}

/// The weights of four rows, each on all lanes.
struct Weights {
  V w0, w1, w2, w3;
};

HWY_INLINE HWY_ATTR Weights four_weights(const float* w) {
  const D d;
  return {hn::Set(d, w[0]), hn::Set(d, w[1]), hn::Set(d, w[2]), hn::Set(d, w[3])};
}

/// Four rows for kQueries (1 or 4) outputs: out[g * dim] += w[g * stride + i] * row i.
template <int kQueries, class T>
HWY_INLINE HWY_ATTR void add_rows(const RowsAtOnce<T>& row, const float* w, Index stride, Index dim,
                                  float* out) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  const Index next = kQueries > 1 ? stride : 0;
  const Weights w0 = four_weights(w), w1 = four_weights(w + next);
  const Weights w2 = four_weights(w + 2 * next), w3 = four_weights(w + 3 * next);
  Index x = 0;
  for (; x + n <= dim; x += n) {
    const V r0 = load(d, row[0] + x), r1 = load(d, row[1] + x);
    const V r2 = load(d, row[2] + x), r3 = load(d, row[3] + x);
    const auto add = [&](const Weights& by, float* to) HWY_ATTR {
      const V sum = hn::MulAdd(by.w1, r1, hn::MulAdd(by.w0, r0, hn::LoadU(d, to)));
      hn::StoreU(hn::MulAdd(by.w3, r3, hn::MulAdd(by.w2, r2, sum)), d, to);
    };
    add(w0, out + x);
    if constexpr (kQueries > 1) add(w1, out + dim + x);
    if constexpr (kQueries > 1) add(w2, out + 2 * dim + x);
    if constexpr (kQueries > 1) add(w3, out + 3 * dim + x);
  }
  for (; x < dim; ++x) {
    for (Index g = 0; g < kQueries; ++g) {
      for (Index i = 0; i < kRows; ++i) {
        out[g * dim + x] += w[g * stride + i] * scalar(row[as_size(i)][x]);
      }
    }
  }
}

/// Rows first .. first + 3 of head u; past the last row, the last one again.
template <class T>
HWY_INLINE RowsAtOnce<T> rows_at(const KeyRows& rows, Index first, Index u) {
  const T* const head = static_cast<const T*>(rows.data) + u * rows.head_stride;
  RowsAtOnce<T> at;
  for (Index i = 0; i < kRows; ++i) {
    at[as_size(i)] = head + rows.offsets[as_size(std::min(first + i, rows.count() - 1))];
  }
  return at;
}

/// Asks for four rows to come into the second cache.
template <class T>
HWY_INLINE void ask_for(const RowsAtOnce<T>& rows, Index dim) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  for (const T* row : rows) {
    for (Index x = 0; x < dim; x += kLine) __builtin_prefetch(row + x, 0, 2);
  }
}

/// f(four rows, the first of them, their head) for all rows, those that lie together together.
template <class T, class F>
HWY_INLINE HWY_ATTR void for_each_four(const KeyRows& rows, const KeyRows* ahead, F&& f) {
  const Index block = std::max(rows.together / kRows * kRows, kRows);
  for (Index begin = 0; begin < rows.count(); begin += block) {
    const Index end = std::min(begin + block, rows.count());
    for (Index u = 0; u < rows.heads; ++u) {
      for (Index j = begin; j < end; j += kRows) {
        if (ahead && j < ahead->count()) ask_for(rows_at<T>(*ahead, j, u), rows.dim);
        f(rows_at<T>(rows, j, u), j, u);
      }
    }
  }
}

template <class T>
HWY_ATTR void dots_of(const KeyRows& rows, const float* queries, Index group, float* scores,
                      Index stride, const KeyRows* ahead) {
  const Index dim = rows.dim;
  for_each_four<T>(rows, ahead, [&](const RowsAtOnce<T>& four, Index j, Index u) HWY_ATTR {
    Index h = u * group;
    const Index end = h + group;
    for (; h + 4 <= end; h += 4) {
      dots_of_four(four, queries + h * dim, dim, scores + h * stride + j, stride);
    }
    for (; h < end; ++h) dots_of_one(four, queries + h * dim, dim, scores + h * stride + j);
  });
}

template <class T>
HWY_ATTR void sums_of(const KeyRows& rows, const float* weights, Index stride, Index group,
                      float* out, const KeyRows* ahead) {
  const Index dim = rows.dim;
  for_each_four<T>(rows, ahead, [&](const RowsAtOnce<T>& four, Index j, Index u) HWY_ATTR {
    Index h = u * group;
    const Index end = h + group;
    for (; h + 4 <= end; h += 4) {
      add_rows<4>(four, weights + h * stride + j, stride, dim, out + h * dim);
    }
    for (; h < end; ++h) {
      add_rows<1>(four, weights + h * stride + j, stride, dim, out + h * dim);
    }
  });
}

HWY_ATTR void dots_float(const KeyRows& rows, const float* queries, Index group, float* scores,
                         Index stride, const KeyRows* ahead) {
  dots_of<float>(rows, queries, group, scores, stride, ahead);
}
HWY_ATTR void sums_float(const KeyRows& rows, const float* weights, Index stride, Index group,
                         float* out, const KeyRows* ahead) {
  sums_of<float>(rows, weights, stride, group, out, ahead);
}
HWY_ATTR void dots_half(const KeyRows& rows, const float* queries, Index group, float* scores,
                        Index stride, const KeyRows* ahead) {
  dots_of<hwy::float16_t>(rows, queries, group, scores, stride, ahead);
}
HWY_ATTR void sums_half(const KeyRows& rows, const float* weights, Index stride, Index group,
                        float* out, const KeyRows* ahead) {
  sums_of<hwy::float16_t>(rows, weights, stride, group, out, ahead);
}
HWY_ATTR void dots_bfloat(const KeyRows& rows, const float* queries, Index group, float* scores,
                          Index stride, const KeyRows* ahead) {
  dots_of<hwy::bfloat16_t>(rows, queries, group, scores, stride, ahead);
}
HWY_ATTR void sums_bfloat(const KeyRows& rows, const float* weights, Index stride, Index group,
                          float* out, const KeyRows* ahead) {
  sums_of<hwy::bfloat16_t>(rows, weights, stride, group, out, ahead);
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention {

HWY_EXPORT(dots_float);
HWY_EXPORT(dots_half);
HWY_EXPORT(dots_bfloat);
HWY_EXPORT(sums_float);
HWY_EXPORT(sums_half);
HWY_EXPORT(sums_bfloat);

void paged_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride,
                const KeyRows* ahead) {
  if (rows.dtype == DType::kFloat32) {
    HWY_DYNAMIC_DISPATCH(dots_float)(rows, queries, group, scores, stride, ahead);
  } else if (rows.dtype == DType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(dots_half)(rows, queries, group, scores, stride, ahead);
  } else {
    HWY_DYNAMIC_DISPATCH(dots_bfloat)(rows, queries, group, scores, stride, ahead);
  }
}

void paged_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out,
                const KeyRows* ahead) {
  if (rows.dtype == DType::kFloat32) {
    HWY_DYNAMIC_DISPATCH(sums_float)(rows, weights, stride, group, out, ahead);
  } else if (rows.dtype == DType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(sums_half)(rows, weights, stride, group, out, ahead);
  } else {
    HWY_DYNAMIC_DISPATCH(sums_bfloat)(rows, weights, stride, group, out, ahead);
  }
}

}  // namespace maskctl::attention
#endif  // HWY_ONCE
