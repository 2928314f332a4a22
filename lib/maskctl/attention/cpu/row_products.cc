// Products with unpacked rows, compiled for several instruction sets.
#include "maskctl/attention/cpu/row_products.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "maskctl/attention/cpu/prefetch_fours.h"
#include "maskctl/attention/cpu/simd_targets.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/attention/cpu/row_products.cc"
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
HWY_INLINE float scalar(hwy::float16_t x) {  // a struct, or a type of the compiler for ARM
  return float_from_half(std::bit_cast<std::uint16_t>(x));
}

#if HWY_TARGET == HWY_SCALAR

/// out[i] = the sum of the lanes of v_i.
HWY_INLINE HWY_ATTR void store_sums(V v0, V v1, V v2, V v3, float* out) {
  const V all[] = {v0, v1, v2, v3};
  for (Index i = 0; i < 4; ++i) out[i] = hn::GetLane(all[i]);
}

#else

/// Adds up blocks of four lanes: element i of the result is the sum of lanes i, i + 4, i + 8, ...
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

/// out[i] = the sum of the lanes of v_i. Four sums cost little more than one.
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

/// Four vectors as separate members, because GCC 12 spills an array of vectors.
struct FourVectors {
  V v0, v1, v2, v3;
};

/// Four vectors (one per row) for each of up to four queries or outputs.
struct FourByFour {
  FourVectors a, b, c, e;
};

/// The vectors that begin at element x of each of four rows.
template <class T>
HWY_INLINE HWY_ATTR FourVectors four_vectors(const Four<T>& row, Index x) {
  const D d;
  return {load(d, row[0] + x), load(d, row[1] + x), load(d, row[2] + x), load(d, row[3] + x)};
}

/// sums.v_i += y * r.v_i.
HWY_INLINE HWY_ATTR void add_products(V y, const FourVectors& r, FourVectors& sums) {
  sums.v0 = hn::MulAdd(y, r.v0, sums.v0), sums.v1 = hn::MulAdd(y, r.v1, sums.v1);
  sums.v2 = hn::MulAdd(y, r.v2, sums.v2), sums.v3 = hn::MulAdd(y, r.v3, sums.v3);
}

/// out[i] = the sum of the lanes of sums.v_i, plus row i . q over the elements from x on.
template <class T>
HWY_INLINE HWY_ATTR void finish_dots(const FourVectors& sums, const Four<T>& row, const float* q,
                                     Index x, Index dim, float* out) {
  store_sums(sums.v0, sums.v1, sums.v2, sums.v3, out);
  for (; x < dim; ++x) {
    for (std::size_t i = 0; i < 4; ++i) out[i] += q[x] * scalar(row[i][x]);
  }
}

/// Adds to sums the products of one vector of each row, starting at element x, with kQueries (1, 2
/// or 4) queries.
template <int kQueries, class T>
HWY_INLINE HWY_ATTR void add_dots(const Four<T>& row, const float* q, Index dim, Index x,
                                  FourByFour& sums) {
  const D d;
  const FourVectors r = four_vectors(row, x);
  add_products(hn::LoadU(d, q + x), r, sums.a);
  if constexpr (kQueries > 1) add_products(hn::LoadU(d, q + dim + x), r, sums.b);
  if constexpr (kQueries > 2) {
    add_products(hn::LoadU(d, q + 2 * dim + x), r, sums.c);
    add_products(hn::LoadU(d, q + 3 * dim + x), r, sums.e);
  }
}

/// out[g * stride + i] = row i . query g.
template <int kQueries, class T>
HWY_INLINE HWY_ATTR void dots_of_four(const Four<T>& row, const Prefetch& prefetch, const float* q,
                                      Index dim, float* out, Index stride) {
  const auto n = static_cast<Index>(hn::Lanes(D()));
  const V zero = hn::Zero(D());
  FourByFour sums{{zero, zero, zero, zero},
                  {zero, zero, zero, zero},
                  {zero, zero, zero, zero},
                  {zero, zero, zero, zero}};
  Index x = 0;
  while (x + kLine<T> <= dim) {
    prefetch.line(row, x);
    for (const Index end = x + kLine<T>; x < end; x += n) add_dots<kQueries>(row, q, dim, x, sums);
  }
  for (; x + n <= dim; x += n) add_dots<kQueries>(row, q, dim, x, sums);
  finish_dots(sums.a, row, q, x, dim, out);
  if constexpr (kQueries > 1) finish_dots(sums.b, row, q + dim, x, dim, out + stride);
  if constexpr (kQueries > 2) {
    finish_dots(sums.c, row, q + 2 * dim, x, dim, out + 2 * stride);
    finish_dots(sums.e, row, q + 3 * dim, x, dim, out + 3 * stride);
  }
}

/// Splits [begin, end) into groups of 4, then 2, then 1, and calls f(size of the group, its first
/// element).
template <class F>
HWY_INLINE HWY_ATTR void for_fours(Index begin, Index end, F&& f) {
  for (; begin + 4 <= end; begin += 4) f(std::integral_constant<int, 4>(), begin);
  for (; begin + 2 <= end; begin += 2) f(std::integral_constant<int, 2>(), begin);
  for (; begin < end; ++begin) f(std::integral_constant<int, 1>(), begin);
}

/// Calls f(four rows, what to prefetch, number of queries, first query, first row) for all groups
/// of four rows and all groups of queries.
template <class T, class F>
HWY_INLINE HWY_ATTR void for_each_four(const KeyRows& rows, const KeyRows* ahead, Index group,
                                       F&& f) {
  // How many groups of four rows to prefetch ahead: about the same number of bytes for every dtype.
  constexpr Index kNear = 6 * (4 / Index{sizeof(T)});
  const PrefetchFours later(rows.fours(), ahead, kNear);
  for (std::size_t i = 0; i < rows.fours().size(); ++i) {
    const FourRows& four = rows.fours()[i];
    const auto row = [&](std::size_t k) { return reinterpret_cast<const T*>(four.at[k]); };
    const Four<T> typed{row(0), row(1), row(2), row(3)};
    const Index begin = four.head * group, end = begin + group;
    for_fours(begin, end, [&](auto at_once, Index h) HWY_ATTR {
      f(typed, later.at(i, h == begin, h + at_once() == end), at_once, h, four.first);
    });
  }
}

template <class T>
HWY_ATTR void dots_of(const KeyRows& rows, const float* queries, Index group, float* scores,
                      Index stride, const KeyRows* ahead) {
  const Index dim = rows.array().dim;
  for_each_four<T>(
      rows, ahead, group,
      [&](const Four<T>& four, const Prefetch& prefetch, auto at_once, Index h, Index j) HWY_ATTR {
        dots_of_four<at_once()>(four, prefetch, queries + h * dim, dim, scores + h * stride + j,
                                stride);
      });
}

/// The weights w[0], w[step], w[2 * step] and w[3 * step], each broadcast to all lanes; weight i is
/// 0 for i >= inside.
HWY_INLINE HWY_ATTR FourVectors four_weights(const float* w, Index step, Index inside) {
  const D d;
  const auto weight = [=](Index i) { return i < inside ? w[i * step] : 0.0f; };
  return {hn::Set(d, weight(0)), hn::Set(d, weight(1)), hn::Set(d, weight(2)),
          hn::Set(d, weight(3))};
}

/// to[i] += the sum of weight * row over four rows, for one vector of elements.
HWY_INLINE HWY_ATTR void add_rows(const FourVectors& weights, const FourVectors& r, float* to) {
  const D d;
  V sum = hn::MulAdd(weights.v0, r.v0, hn::LoadU(d, to));
  sum = hn::MulAdd(weights.v2, r.v2, hn::MulAdd(weights.v1, r.v1, sum));
  hn::StoreU(hn::MulAdd(weights.v3, r.v3, sum), d, to);
}

/// The weights with which four rows are added to several outputs. The weight of row i for output g
/// is data[g * output_step + i * row_step], or 0 for i >= inside.
struct Weights {
  HWY_INLINE HWY_ATTR FourVectors of(Index g) const {
    return four_weights(data + g * output_step, row_step, inside);
  }
  const float* data;
  Index output_step, row_step, inside = 4;
};

/// Adds to each of kOutputs (1, 2 or 4) outputs the sum of weight * row over four rows, for one
/// vector that starts at element x. Output g starts at out + g * stride.
template <int kOutputs, class T>
HWY_INLINE HWY_ATTR void add_sums(const Four<T>& row, const FourByFour& weights, Index x,
                                  float* out, Index stride) {
  const FourVectors r = four_vectors(row, x);
  add_rows(weights.a, r, out + x);
  if constexpr (kOutputs > 1) add_rows(weights.b, r, out + stride + x);
  if constexpr (kOutputs > 2) {
    add_rows(weights.c, r, out + 2 * stride + x);
    add_rows(weights.e, r, out + 3 * stride + x);
  }
}

/// Does what add_sums() does, for all elements of the rows.
template <int kOutputs, class T>
HWY_INLINE HWY_ATTR void add_four(const Four<T>& row, const Prefetch& prefetch,
                                  const Weights& weights, Index dim, float* out, Index stride) {
  const auto n = static_cast<Index>(hn::Lanes(D()));
  constexpr Index k1 = kOutputs > 1, k2 = kOutputs > 2 ? 2 : 0, k3 = kOutputs > 2 ? 3 : 0;
  const FourByFour w{weights.of(0), weights.of(k1), weights.of(k2), weights.of(k3)};
  Index x = 0;
  while (x + kLine<T> <= dim) {
    prefetch.line(row, x);
    for (const Index end = x + kLine<T>; x < end; x += n)
      add_sums<kOutputs>(row, w, x, out, stride);
  }
  for (; x + n <= dim; x += n) add_sums<kOutputs>(row, w, x, out, stride);
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
  const Index dim = rows.array().dim;
  for_each_four<T>(
      rows, ahead, group,
      [&](const Four<T>& four, const Prefetch& prefetch, auto at_once, Index h, Index j) HWY_ATTR {
        const Weights of_four{weights + h * stride + j, stride, 1};
        add_four<at_once()>(four, prefetch, of_four, dim, out + h * dim, dim);
      });
}

HWY_ATTR void outer_all(const float* weights, Index stride, const float* vectors, Index group,
                        Index dim, float* rows, Index row_stride, Index count) {
  for (Index g = 0; g < group; g += 4) {
    Four<float> four;
    for (Index i = 0; i < 4; ++i) four[as_size(i)] = vectors + std::min(g + i, group - 1) * dim;
    const Index inside = std::min<Index>(4, group - g);
    for_fours(0, count, [&](auto at_once, Index j) HWY_ATTR {
      const Weights of_row{weights + g * stride + j, 1, stride, inside};
      add_four<at_once()>(four, Prefetch(), of_row, dim, rows + j * row_stride, row_stride);
    });
  }
}

/// Calls f with a value of the C++ type that belongs to the dtype.
template <class F>
HWY_INLINE void with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(float());
    case DType::kFloat16:
      return f(hwy::float16_t());
    case DType::kBFloat16:
      return f(hwy::bfloat16_t());
    default:
      throw Error(Errc::kUnsupported, "rows of float32, float16 or bfloat16 were expected");
  }
}

HWY_ATTR void dots_all(const KeyRows& rows, const float* queries, Index group, float* scores,
                       Index stride, const KeyRows* ahead) {
  with_element(rows.array().dtype, [&](auto element) HWY_ATTR {
    dots_of<decltype(element)>(rows, queries, group, scores, stride, ahead);
  });
}

HWY_ATTR void sums_all(const KeyRows& rows, const float* weights, Index stride, Index group,
                       float* out, const KeyRows* ahead) {
  with_element(rows.array().dtype, [&](auto element) HWY_ATTR {
    sums_of<decltype(element)>(rows, weights, stride, group, out, ahead);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention {

void KeyRows::place(const RowArray& array, std::span<const Index> offsets) {
  array_ = array, count_ = static_cast<Index>(offsets.size());
  fours_.clear();
  const Index size = size_bytes(array.dtype), block = std::max<Index>(array.together / 4 * 4, 4);
  const auto* const data = static_cast<const std::byte*>(array.data);
  for (Index begin = 0; begin < count_; begin += block) {
    const Index end = std::min(begin + block, count_);
    for (Index u = 0; u < array.heads; ++u) {
      const std::byte* const head = data + u * array.head_stride * size;
      const auto row = [&](Index j) {
        return head + offsets[as_size(std::min(j, count_ - 1))] * size;
      };
      for (Index j = begin; j < end; j += 4) {
        fours_.push_back({{row(j), row(j + 1), row(j + 2), row(j + 3)}, j, u});
      }
    }
  }
}

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
