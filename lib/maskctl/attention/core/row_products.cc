// Compiled for several instruction sets at once.
#include "maskctl/attention/core/row_products.h"

#include <algorithm>
#include <array>

#include "maskctl/attention/core/simd_targets.h"
#include "maskctl/tensor/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/attention/core/row_products.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

HWY_INLINE HWY_ATTR V load(D d, const float* p) { return hn::LoadU(d, p); }
template <class Half>
HWY_INLINE HWY_ATTR V load(D d, const Half* p) {
  const hn::Rebind<Half, D> half;
  return hn::PromoteTo(d, hn::LoadU(half, p));
}

HWY_INLINE float scalar(float x) { return x; }
HWY_INLINE float scalar(hwy::bfloat16_t x) { return float_from_bfloat16(x.bits); }
HWY_INLINE float scalar(hwy::float16_t x) { return float_from_half(x.bits); }

template <class T>
using Four = std::array<const T*, 4>;

/// What is left of a . row from `x` on, added to the lanes before it.
template <class T>
HWY_INLINE HWY_ATTR float finish_dot(V lanes, const float* a, const T* row, Index x, Index dim) {
  float sum = hn::GetLane(hn::SumOfLanes(D(), lanes));
  for (; x < dim; ++x) sum += a[x] * scalar(row[x]);
  return sum;
}

/// One row against 1, 2 or 4 queries. Named accumulators: GCC 12 spills an array of vectors.
template <int kQueries, class T>
HWY_INLINE HWY_ATTR void dots_of_row(const T* row, const float* q, Index dim, float* out,
                                     Index stride) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  Index x = 0;
  for (; x + n <= dim; x += n) {
    const V r = load(d, row + x);
    s0 = hn::MulAdd(r, hn::LoadU(d, q + x), s0);
    if constexpr (kQueries > 1) s1 = hn::MulAdd(r, hn::LoadU(d, q + dim + x), s1);
    if constexpr (kQueries > 2) {
      s2 = hn::MulAdd(r, hn::LoadU(d, q + 2 * dim + x), s2);
      s3 = hn::MulAdd(r, hn::LoadU(d, q + 3 * dim + x), s3);
    }
  }
  out[0] = finish_dot(s0, q, row, x, dim);
  if constexpr (kQueries > 1) out[stride] = finish_dot(s1, q + dim, row, x, dim);
  if constexpr (kQueries > 2) {
    out[2 * stride] = finish_dot(s2, q + 2 * dim, row, x, dim);
    out[3 * stride] = finish_dot(s3, q + 3 * dim, row, x, dim);
  }
}

/// a += wa[i] * row[i], i < 4, and the same for b with kTwo.
template <bool kTwo, class T>
HWY_INLINE HWY_ATTR void add_four(const Four<T>& row, const std::array<float, 4>& wa,
                                  const std::array<float, 4>& wb, Index dim, float* a, float* b) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  const V a0 = hn::Set(d, wa[0]), a1 = hn::Set(d, wa[1]);
  const V a2 = hn::Set(d, wa[2]), a3 = hn::Set(d, wa[3]);
  const V b0 = hn::Set(d, wb[0]), b1 = hn::Set(d, wb[1]);
  const V b2 = hn::Set(d, wb[2]), b3 = hn::Set(d, wb[3]);
  Index x = 0;
  for (; x + n <= dim; x += n) {
    const V r0 = load(d, row[0] + x), r1 = load(d, row[1] + x);
    const V r2 = load(d, row[2] + x), r3 = load(d, row[3] + x);
    V sum = hn::MulAdd(a0, r0, hn::LoadU(d, a + x));
    sum = hn::MulAdd(a2, r2, hn::MulAdd(a1, r1, sum));
    hn::StoreU(hn::MulAdd(a3, r3, sum), d, a + x);
    if constexpr (kTwo) {
      sum = hn::MulAdd(b0, r0, hn::LoadU(d, b + x));
      sum = hn::MulAdd(b2, r2, hn::MulAdd(b1, r1, sum));
      hn::StoreU(hn::MulAdd(b3, r3, sum), d, b + x);
    }
  }
  for (; x < dim; ++x) {
    for (std::size_t i = 0; i < 4; ++i) {
      a[x] += wa[i] * scalar(row[i][x]);
      if constexpr (kTwo) b[x] += wb[i] * scalar(row[i][x]);
    }
  }
}

/// One row against the queries of its head.
template <class T>
HWY_INLINE HWY_ATTR void dots_of_head(const T* row, const float* queries, Index group, Index dim,
                                      float* scores, Index stride) {
  Index g = 0;
  for (; g + 4 <= group; g += 4) {
    dots_of_row<4>(row, queries + g * dim, dim, scores + g * stride, stride);
  }
  for (; g + 2 <= group; g += 2) {
    dots_of_row<2>(row, queries + g * dim, dim, scores + g * stride, stride);
  }
  if (g < group) dots_of_row<1>(row, queries + g * dim, dim, scores + g * stride, stride);
}

enum class Cache { kFirst, kSecond };

/// Asks for one row to come.
template <Cache kCache, class T>
HWY_INLINE void prefetch(const T* row, Index dim) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  for (Index x = 0; x < dim; x += kLine) {
    __builtin_prefetch(row + x, 0, kCache == Cache::kFirst ? 3 : 2);
  }
}

/// Rows of one head that lie together are read together, in the order of their bytes: that is what
/// the hardware foresees. Where such a run ends it does not, so rows are asked for before their
/// time.
template <class T>
HWY_ATTR void dots_of(const KeyRows& rows, const float* queries, Index group, float* scores,
                      Index stride) {
  constexpr Index kAhead = 4;
  const Index count = rows.count();
  const auto place = [&rows](Index j, Index u) {
    return rows.offsets[as_size(j)] + u * rows.head_stride;
  };
  const T* const data = static_cast<const T*>(rows.data);
  for (Index begin = 0; begin < count; begin += rows.together) {
    const Index end = std::min(begin + rows.together, count);
    for (Index u = 0; u < rows.heads; ++u) {
      for (Index j = begin; j < end; ++j) {
        prefetch<Cache::kSecond>(data + place(std::min(j + kAhead, count - 1), u), rows.dim);
        dots_of_head(data + place(j, u), queries + u * group * rows.dim, group, rows.dim,
                     scores + u * group * stride + j, stride);
      }
    }
  }
}

/// Rows first .. first + 3 of head u; past the last row, the last one again.
template <class T>
HWY_INLINE Four<T> four_rows(const KeyRows& rows, Index first, Index u) {
  const T* const head = static_cast<const T*>(rows.data) + u * rows.head_stride;
  Four<T> four;
  for (Index i = 0; i < 4; ++i) {
    four[as_size(i)] = head + rows.offsets[as_size(std::min(first + i, rows.count() - 1))];
  }
  return four;
}

/// Four weights from w on, 0 past `inside`.
HWY_INLINE std::array<float, 4> four_weights(const float* w, Index step, Index inside) {
  std::array<float, 4> four{};
  for (Index i = 0; i < inside; ++i) four[as_size(i)] = w[i * step];
  return four;
}

template <class T>
HWY_ATTR void sums_of(const KeyRows& rows, const float* weights, Index stride, Index group,
                      float* out) {
  for (Index first = 0; first < rows.count(); first += 4) {
    const Index inside = std::min<Index>(4, rows.count() - first);
    for (Index u = 0; u < rows.heads; ++u) {
      const Four<T> four = four_rows<T>(rows, first, u);
      for (const T* row : four_rows<T>(rows, first + 4, u)) prefetch<Cache::kFirst>(row, rows.dim);
      for (Index h = u * group; h < (u + 1) * group; h += 2) {
        const float* const w = weights + h * stride + first;
        float* const a = out + h * rows.dim;
        const auto wa = four_weights(w, 1, inside);
        if (h + 1 < (u + 1) * group) {
          add_four<true>(four, wa, four_weights(w + stride, 1, inside), rows.dim, a, a + rows.dim);
        } else {
          add_four<false>(four, wa, wa, rows.dim, a, a);
        }
      }
    }
  }
}

HWY_ATTR void dots_float(const KeyRows& rows, const float* queries, Index group, float* scores,
                         Index stride) {
  dots_of<float>(rows, queries, group, scores, stride);
}
HWY_ATTR void dots_half(const KeyRows& rows, const float* queries, Index group, float* scores,
                        Index stride) {
  dots_of<hwy::float16_t>(rows, queries, group, scores, stride);
}
HWY_ATTR void dots_bfloat(const KeyRows& rows, const float* queries, Index group, float* scores,
                          Index stride) {
  dots_of<hwy::bfloat16_t>(rows, queries, group, scores, stride);
}

HWY_ATTR void sums_float(const KeyRows& rows, const float* weights, Index stride, Index group,
                         float* out) {
  sums_of<float>(rows, weights, stride, group, out);
}
HWY_ATTR void sums_half(const KeyRows& rows, const float* weights, Index stride, Index group,
                        float* out) {
  sums_of<hwy::float16_t>(rows, weights, stride, group, out);
}
HWY_ATTR void sums_bfloat(const KeyRows& rows, const float* weights, Index stride, Index group,
                          float* out) {
  sums_of<hwy::bfloat16_t>(rows, weights, stride, group, out);
}

HWY_ATTR void outer_all(const float* weights, Index stride, const float* vectors, Index group,
                        Index dim, float* rows, Index row_stride, Index count) {
  for (Index g = 0; g < group; g += 4) {
    const Index inside = std::min<Index>(4, group - g);
    Four<float> four;
    for (Index i = 0; i < 4; ++i) four[as_size(i)] = vectors + std::min(g + i, group - 1) * dim;
    for (Index j = 0; j < count; j += 2) {
      const float* const w = weights + g * stride + j;
      float* const a = rows + j * row_stride;
      const auto wa = four_weights(w, stride, inside);
      if (j + 1 < count) {
        add_four<true>(four, wa, four_weights(w + 1, stride, inside), dim, a, a + row_stride);
      } else {
        add_four<false>(four, wa, wa, dim, a, a);
      }
    }
  }
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
HWY_EXPORT(outer_all);

void row_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride) {
  if (rows.dtype == DType::kFloat32) {
    HWY_DYNAMIC_DISPATCH(dots_float)(rows, queries, group, scores, stride);
  } else if (rows.dtype == DType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(dots_half)(rows, queries, group, scores, stride);
  } else {
    HWY_DYNAMIC_DISPATCH(dots_bfloat)(rows, queries, group, scores, stride);
  }
}

void row_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out) {
  if (rows.dtype == DType::kFloat32) {
    HWY_DYNAMIC_DISPATCH(sums_float)(rows, weights, stride, group, out);
  } else if (rows.dtype == DType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(sums_half)(rows, weights, stride, group, out);
  } else {
    HWY_DYNAMIC_DISPATCH(sums_bfloat)(rows, weights, stride, group, out);
  }
}

void add_outer(const float* weights, Index stride, const float* vectors, Index group, Index dim,
               float* rows, Index row_stride, Index count) {
  HWY_DYNAMIC_DISPATCH(outer_all)
  (weights, stride, vectors, group, dim, rows, row_stride, count);
}

}  // namespace maskctl::attention
#endif  // HWY_ONCE
