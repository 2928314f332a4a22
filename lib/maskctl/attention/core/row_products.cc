// Compiled for several instruction sets at once.
#include "maskctl/attention/core/row_products.h"

#include <algorithm>
#include <array>
#include <type_traits>

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

/// Four vectors with names: GCC 12 spills an array of vectors.
struct FourVectors {
  V v0, v1, v2, v3;
};

/// sums += y * r.
HWY_INLINE HWY_ATTR void add_products(V y, const FourVectors& r, FourVectors& sums) {
  sums.v0 = hn::MulAdd(y, r.v0, sums.v0), sums.v1 = hn::MulAdd(y, r.v1, sums.v1);
  sums.v2 = hn::MulAdd(y, r.v2, sums.v2), sums.v3 = hn::MulAdd(y, r.v3, sums.v3);
}

/// out[i] = the sum of the lanes of vector i + row i . q from x on.
template <class T>
HWY_INLINE HWY_ATTR void finish_dots(const FourVectors& sums, const Four<T>& row, const float* q,
                                     Index x, Index dim, float* out) {
  store_sums(sums.v0, sums.v1, sums.v2, sums.v3, out);
  for (; x < dim; ++x) {
    for (std::size_t i = 0; i < 4; ++i) out[i] += q[x] * scalar(row[i][x]);
  }
}

/// out[g * stride + i] = row i . query g of kQueries (1, 2 or 4) queries.
template <int kQueries, class T>
HWY_INLINE HWY_ATTR void dots_of_four(const Four<T>& row, const float* q, Index dim, float* out,
                                      Index stride) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  const V zero = hn::Zero(d);
  FourVectors a{zero, zero, zero, zero}, b = a, c = a, e = a;
  Index x = 0;
  for (; x + n <= dim; x += n) {
    const FourVectors r{load(d, row[0] + x), load(d, row[1] + x), load(d, row[2] + x),
                        load(d, row[3] + x)};
    add_products(hn::LoadU(d, q + x), r, a);
    if constexpr (kQueries > 1) add_products(hn::LoadU(d, q + dim + x), r, b);
    if constexpr (kQueries > 2) {
      add_products(hn::LoadU(d, q + 2 * dim + x), r, c);
      add_products(hn::LoadU(d, q + 3 * dim + x), r, e);
    }
  }
  finish_dots(a, row, q, x, dim, out);
  if constexpr (kQueries > 1) finish_dots(b, row, q + dim, x, dim, out + stride);
  if constexpr (kQueries > 2) {
    finish_dots(c, row, q + 2 * dim, x, dim, out + 2 * stride);
    finish_dots(e, row, q + 3 * dim, x, dim, out + 3 * stride);
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

/// Asks for four rows to come into the second cache.
template <class T>
HWY_INLINE void ask_for(const Four<T>& rows, Index dim) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  for (const T* row : rows) {
    for (Index x = 0; x < dim; x += kLine) __builtin_prefetch(row + x, 0, 2);
  }
}

/// f(rows j .. j + 3 of head u, j, u) for all rows, those that lie together together.
template <class T, class F>
HWY_INLINE HWY_ATTR void for_each_four(const KeyRows& rows, const KeyRows* ahead, F&& f) {
  const Index block = std::max<Index>(rows.together / 4 * 4, 4);
  for (Index begin = 0; begin < rows.count(); begin += block) {
    const Index end = std::min(begin + block, rows.count());
    for (Index u = 0; u < rows.heads; ++u) {
      for (Index j = begin; j < end; j += 4) {
        if (ahead && j < ahead->count()) ask_for(four_rows<T>(*ahead, j, u), ahead->dim);
        f(four_rows<T>(rows, j, u), j, u);
      }
    }
  }
}

/// f(so many, the first of them): four at a time, then two, then one.
template <class F>
HWY_INLINE HWY_ATTR void for_fours(Index begin, Index end, F&& f) {
  for (; begin + 4 <= end; begin += 4) f(std::integral_constant<int, 4>(), begin);
  for (; begin + 2 <= end; begin += 2) f(std::integral_constant<int, 2>(), begin);
  for (; begin < end; ++begin) f(std::integral_constant<int, 1>(), begin);
}

template <class T>
HWY_ATTR void dots_of(const KeyRows& rows, const float* queries, Index group, float* scores,
                      Index stride, const KeyRows* ahead) {
  const Index dim = rows.dim;
  for_each_four<T>(rows, ahead, [&](const Four<T>& four, Index j, Index u) HWY_ATTR {
    for_fours(u * group, (u + 1) * group, [&](auto at_once, Index h) HWY_ATTR {
      dots_of_four<at_once()>(four, queries + h * dim, dim, scores + h * stride + j, stride);
    });
  });
}

/// Four weights from w on, 0 past `inside`, each on all lanes.
HWY_INLINE HWY_ATTR FourVectors four_weights(const float* w, Index step, Index inside) {
  const D d;
  const auto weight = [=](Index i) { return i < inside ? w[i * step] : 0.0f; };
  return {hn::Set(d, weight(0)), hn::Set(d, weight(1)), hn::Set(d, weight(2)),
          hn::Set(d, weight(3))};
}

/// to[i] += the sum of weight * row over four rows, of the lanes from i on.
HWY_INLINE HWY_ATTR void add_rows(const FourVectors& weights, const FourVectors& r, float* to) {
  const D d;
  V sum = hn::MulAdd(weights.v0, r.v0, hn::LoadU(d, to));
  sum = hn::MulAdd(weights.v2, r.v2, hn::MulAdd(weights.v1, r.v1, sum));
  hn::StoreU(hn::MulAdd(weights.v3, r.v3, sum), d, to);
}

/// Where the weights of four rows are: of row i for output g at data + g * output_step + i *
/// row_step; 0 past the rows inside.
struct Weights {
  HWY_INLINE HWY_ATTR FourVectors of(Index g) const {
    return four_weights(data + g * output_step, row_step, inside);
  }
  const float* data;
  Index output_step, row_step, inside = 4;
};

/// out[g * stride] += the sum of weight * row over four rows, of kOutputs (1, 2 or 4) outputs.
template <int kOutputs, class T>
HWY_INLINE HWY_ATTR void add_four(const Four<T>& row, const Weights& weights, Index dim, float* out,
                                  Index stride) {
  const D d;
  const auto n = static_cast<Index>(hn::Lanes(d));
  constexpr Index k1 = kOutputs > 1, k2 = kOutputs > 2 ? 2 : 0, k3 = kOutputs > 2 ? 3 : 0;
  const FourVectors a = weights.of(0), b = weights.of(k1), c = weights.of(k2), e = weights.of(k3);
  Index x = 0;
  for (; x + n <= dim; x += n) {
    const FourVectors r{load(d, row[0] + x), load(d, row[1] + x), load(d, row[2] + x),
                        load(d, row[3] + x)};
    add_rows(a, r, out + x);
    if constexpr (kOutputs > 1) add_rows(b, r, out + stride + x);
    if constexpr (kOutputs > 2) {
      add_rows(c, r, out + 2 * stride + x);
      add_rows(e, r, out + 3 * stride + x);
    }
  }
  for (; x < dim; ++x) {
    for (Index g = 0; g < kOutputs; ++g) {
      for (Index i = 0; i < weights.inside; ++i) {
        out[g * stride + x] += weights.data[g * weights.output_step + i * weights.row_step] *
                               scalar(row[as_size(i)][x]);
      }
    }
  }
}

template <class T>
HWY_ATTR void sums_of(const KeyRows& rows, const float* weights, Index stride, Index group,
                      float* out, const KeyRows* ahead) {
  const Index dim = rows.dim;
  for_each_four<T>(rows, ahead, [&](const Four<T>& four, Index j, Index u) HWY_ATTR {
    for_fours(u * group, (u + 1) * group, [&](auto at_once, Index h) HWY_ATTR {
      add_four<at_once()>(four, Weights{weights + h * stride + j, stride, 1}, dim, out + h * dim,
                          dim);
    });
  });
}

HWY_ATTR void outer_all(const float* weights, Index stride, const float* vectors, Index group,
                        Index dim, float* rows, Index row_stride, Index count) {
  for (Index g = 0; g < group; g += 4) {
    Four<float> four;
    for (Index i = 0; i < 4; ++i) four[as_size(i)] = vectors + std::min(g + i, group - 1) * dim;
    const Index inside = std::min<Index>(4, group - g);
    for_fours(0, count, [&](auto at_once, Index j) HWY_ATTR {
      add_four<at_once()>(four, Weights{weights + g * stride + j, 1, stride, inside}, dim,
                          rows + j * row_stride, row_stride);
    });
  }
}

/// f(an element of this dtype).
template <class F>
HWY_INLINE void with_element(DType dtype, F&& f) {
  if (dtype == DType::kFloat32) {
    f(float());
  } else if (dtype == DType::kFloat16) {
    f(hwy::float16_t());
  } else {
    f(hwy::bfloat16_t());
  }
}

HWY_ATTR void dots_all(const KeyRows& rows, const float* queries, Index group, float* scores,
                       Index stride, const KeyRows* ahead) {
  with_element(rows.dtype, [&](auto element) HWY_ATTR {
    dots_of<decltype(element)>(rows, queries, group, scores, stride, ahead);
  });
}

HWY_ATTR void sums_all(const KeyRows& rows, const float* weights, Index stride, Index group,
                       float* out, const KeyRows* ahead) {
  with_element(rows.dtype, [&](auto element) HWY_ATTR {
    sums_of<decltype(element)>(rows, weights, stride, group, out, ahead);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention {

HWY_EXPORT(dots_all);
HWY_EXPORT(sums_all);
HWY_EXPORT(outer_all);

void row_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride,
              const KeyRows* ahead) {
  HWY_DYNAMIC_DISPATCH(dots_all)(rows, queries, group, scores, stride, ahead);
}

void row_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out,
              const KeyRows* ahead) {
  HWY_DYNAMIC_DISPATCH(sums_all)(rows, weights, stride, group, out, ahead);
}

void add_outer(const float* weights, Index stride, const float* vectors, Index group, Index dim,
               float* rows, Index row_stride, Index count) {
  HWY_DYNAMIC_DISPATCH(outer_all)
  (weights, stride, vectors, group, dim, rows, row_stride, count);
}

}  // namespace maskctl::attention
#endif  // HWY_ONCE
