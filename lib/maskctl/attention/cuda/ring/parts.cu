// Merges parts of results. A thread computes a few neighbouring elements of a row, and reads each
// part that contains the row once.
#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/ring/parts.h"
#include "maskctl/attention/cuda/softmax/logits.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;

template <class T, int kWide>
struct alignas(kWide * sizeof(T)) Pack {
  T x[kWide];
};

/// to[i] += weight * from[i]
template <int kWide, class T>
__device__ void add_elements(const T* from, float weight, float (&to)[kWide]) {
  const auto pack = *reinterpret_cast<const Pack<T, kWide>*>(from);
#pragma unroll
  for (int i = 0; i < kWide; ++i) to[i] += weight * to_float(pack.x[i]);
}
template <int kWide, class T>
__device__ void store_elements(const float (&from)[kWide], T* to) {
  Pack<T, kWide> pack;
#pragma unroll
  for (int i = 0; i < kWide; ++i) store(from[i], &pack.x[i]);
  *reinterpret_cast<Pack<T, kWide>*>(to) = pack;
}

/// Returns a row of batch entry b in a part, or null if the part does not have that row.
template <class T>
__device__ const T* row_of(const Part& part, Index b, Index row, Index columns) {
  const Index n = row - part.first;
  if (n < 0 || n >= part.count) return nullptr;
  return static_cast<const T*>(part.data) + (b * part.count + n) * columns;
}

/// Query i of head h in batch entry b.
struct HeadQuery {
  Index b, h, i;
};
__device__ float lse_of(const Part& part, Index heads, const HeadQuery& at) {
  const Index n = at.i - part.first;
  if (n < 0 || n >= part.count) return -kInfinity;
  return part.lse[(at.b * heads + at.h) * part.count + n];
}

/// The lse of a query over all keys and sinks; NaN if the lse of a part is NaN.
__device__ float merged_lse(const SoftmaxParams& p, const Parts& parts, const HeadQuery& at) {
  float max = -kInfinity, sum = 0;
  for (int k = 0; k < parts.count; ++k) {
    const float lse = lse_of(parts.part[k], p.d.q_heads, at);
    if (lse > max || lse != lse) max = lse;
  }
  for (int k = 0; k < parts.count && max != -kInfinity; ++k) {
    sum += expf(lse_of(parts.part[k], p.d.q_heads, at) - max);
  }
  add_sinks(p, at.h, max, sum);
  return max == -kInfinity ? max : max + logf(sum);
}

/// Element `column` of the result of a row without a key.
__device__ float empty_value(const SoftmaxParams& p, const HeadQuery& at, const float* means,
                             Index column) {
  if (p.empty_row == EmptyRow::kZero) return 0;
  if (p.empty_row == EmptyRow::kNan) return nanf("");
  const Index kv_head = at.h / (p.d.q_heads / p.d.kv_heads);
  return means[(at.b * p.d.kv_heads + kv_head) * p.d.value_dim + column];
}

template <int kWide, class T>
__device__ void merge_elements(const SoftmaxParams& p, const Parts& parts, const HeadQuery& at,
                               const float* means, int column, T* to) {
  const float lse = merged_lse(p, parts, at);
  float x[kWide] = {};
  for (int k = 0; k < parts.count && lse != -kInfinity; ++k) {
    const T* const from = row_of<T>(parts.part[k], at.b, at.i, p.d.q_heads * p.d.value_dim);
    if (!from) continue;
    const float weight = expf(lse_of(parts.part[k], p.d.q_heads, at) - lse);
    const T* const elements = from + at.h * p.d.value_dim + column;
    // the result already has these elements, and all other parts have weight 0
    if (weight == 1 && elements == to) return;
    if (weight != 0) add_elements(elements, weight, x);
  }
  for (int c = 0; c < kWide && lse == -kInfinity; ++c) x[c] = empty_value(p, at, means, column + c);
  store_elements(x, to);
}

/// Each block merges one query in all heads. The result may overwrite a part, because the part is
/// read first.
template <class T, int kWide>
__global__ void __launch_bounds__(kThreads)
    merge(SoftmaxParams p, Parts parts, Range rows, const float* means, T* out, float* all_lse) {
  const int heads = static_cast<int>(p.d.q_heads), width = static_cast<int>(p.d.value_dim);
  const int packs = width / kWide, count = static_cast<int>(rows.size());
  const Index b = static_cast<int>(blockIdx.x) / count;
  const Index i = rows.begin + static_cast<int>(blockIdx.x) % count;
  T* const row = out + (b * p.d.queries + i) * heads * width;
  for (int n = static_cast<int>(threadIdx.x); n < heads * packs; n += kThreads) {
    const int h = n / packs, column = n % packs * kWide;
    merge_elements<kWide>(p, parts, {b, h, i}, means, column, row + h * width + column);
  }
  __syncthreads();
  for (int h = static_cast<int>(threadIdx.x); h < heads; h += kThreads) {
    all_lse[(b * heads + h) * p.d.queries + i] = merged_lse(p, parts, {b, h, i});
  }
}

/// Each block sums one row over all parts that contain it.
template <class T, int kWide>
__global__ void __launch_bounds__(kThreads)
    sum_rows(SumShape shape, Parts parts, Range rows, const float* each_row, float scale, T* sum) {
  const int count = static_cast<int>(rows.size());
  const Index b = static_cast<int>(blockIdx.x) / count;
  const Index row = rows.begin + static_cast<int>(blockIdx.x) % count;
  T* const to = sum + (b * shape.rows + row) * shape.columns;
  for (Index column = threadIdx.x * kWide; column < shape.columns; column += kThreads * kWide) {
    float x[kWide] = {};
    for (int k = 0; k < parts.count; ++k) {
      const T* const from = row_of<T>(parts.part[k], b, row, shape.columns);
      if (from) add_elements(from + column, 1, x);
    }
    for (int c = 0; c < kWide; ++c) {
      if (each_row) x[c] += each_row[b * shape.columns + column + c];
      x[c] *= scale;
    }
    store_elements(x, to + column);
  }
}

/// Calls f(std::type_identity<T>(), std::integral_constant<int, n>()), where T is the element type
/// of a dtype and n the number of elements that a thread computes.
template <class F>
void with_packs(DType dtype, Index columns, const void* result, F&& f) {
  with_element(dtype, [&]<class T>(std::type_identity<T> type) {
    constexpr int kWide = 16 / sizeof(T);
    const bool packs = columns % kWide == 0 && reinterpret_cast<std::uintptr_t>(result) % 16 == 0;
    if (packs) return f(type, std::integral_constant<int, kWide>());
    f(type, std::integral_constant<int, 1>());
  });
}

/// Returns the rows that launch_merge() or launch_sum() must write: all rows or, if the result
/// itself is one of the parts, only the range of rows that the other parts have.
Range rows_beside(const Parts& parts, const void* result, Index rows) {
  Range beside;
  bool is_there = false;
  for (const Part& part : std::span(parts.part, static_cast<std::size_t>(parts.count))) {
    if (part.data == result) {
      is_there = true;
    } else {
      beside = hull(beside, {part.first, part.first + part.count});
    }
  }
  return is_there ? beside : Range{0, rows};
}

unsigned blocks(Index batch, Range rows) { return static_cast<unsigned>(batch * rows.size()); }

}  // namespace

void launch_merge(const SoftmaxParams& p, const Parts& parts, const float* means, AnyResult out,
                  float* lse, Stream stream) {
  Range rows{0, p.d.queries};
  if (p.sink_count == 0 && p.empty_row == EmptyRow::kZero) {
    rows = rows_beside(parts, out.data, p.d.queries);
  }
  with_packs(out.dtype, p.d.value_dim, out.data, [&](auto type, auto wide) {
    using Element = typename decltype(type)::type;
    launch("merge of a ring", merge<Element, wide()>, blocks(p.d.batch, rows), kThreads, 0, stream,
           p, parts, rows, means, static_cast<Element*>(out.data), lse);
  });
}

void launch_sum(const SumShape& shape, const Parts& parts, const float* each_row, float scale,
                AnyResult sum, Stream stream) {
  Range rows{0, shape.rows};
  if (!each_row && scale == 1) rows = rows_beside(parts, sum.data, shape.rows);
  with_packs(sum.dtype, shape.columns, sum.data, [&](auto type, auto wide) {
    using Element = typename decltype(type)::type;
    launch("sum of a ring", sum_rows<Element, wide()>, blocks(shape.batch, rows), kThreads, 0,
           stream, shape, parts, rows, each_row, scale, static_cast<Element*>(sum.data));
  });
}

}  // namespace maskctl::attention::cuda
