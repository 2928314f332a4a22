// The block of threads that attends over pages. It takes some vectors (query heads of rows that
// share a key head) through its keys: a stage of keys and one of values are loaded to shared memory
// while the stage before is computed, so that each key is read once for all vectors.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "maskctl/attention/cuda/paged/tiles/task.cuh"

namespace maskctl::attention::cuda {

inline constexpr float kClosed = -1;  // in place of a weight: no weight is below 0

template <class T>
struct alignas(kUnitBytes) Unit {
  static constexpr int kElements = kUnitBytes / sizeof(T);
  T x[kElements];
};

/// The elements of a unit of 16 bytes, converted to float once.
template <class T>
struct Floats {
  __device__ explicit Floats(const uint4* from) {
    const Unit<T> unit = *reinterpret_cast<const Unit<T>*>(from);
#pragma unroll
    for (int i = 0; i < Unit<T>::kElements; ++i) x[i] = to_float(unit.x[i]);
  }
  float x[Unit<T>::kElements];
};

/// Returns the keys of the task's split, which takes whole stages of the tile's keys.
__device__ inline Range keys_of_split(const Task& task, int stage_keys) {
  const Index stages = ceil_div(task.keys.size(), stage_keys);
  const Index size = ceil_div(stages, task.splits) * stage_keys;
  const Index begin = task.keys.begin + task.split * size;
  return {begin, begin + size < task.keys.end ? begin + size : task.keys.end};
}

/// The shared memory of a block.
struct Shared {
  __device__ Shared(const Tiling& t, int query_floats)
      : elements(reinterpret_cast<Index*>(dynamic_shared())),
        seen(reinterpret_cast<int2*>(elements + 2 * t.keys)),
        queries(reinterpret_cast<float*>(seen + t.vectors)),
        logits(queries + query_floats),
        top(logits + t.keys * t.logit_stride()),
        sum(top + t.vectors),
        rescale(sum + t.vectors),
        stages(reinterpret_cast<uint4*>(rescale + t.vectors)) {}

  Index* elements;   // [2][keys]: where the keys of two stages begin in the cache
  int2* seen;        // [vectors]: begin and end of the split's keys that the vector sees
  float* queries;    // [vectors, units]
  float* logits;     // [keys, vectors]: the logits, later replaced by the weights
  float *top, *sum;  // [vectors]: running maxima and sums
  float* rescale;    // [vectors]: factors that rescale earlier sums
  uint4* stages;     // [2][K and V][keys, row_units]; merge_threads() uses this memory for sums
};

/// Computes one task. T is the element type of the cache. A thread holds the sums of kHeld vectors
/// in the columns of one unit, over some of the keys.
template <class T, int kHeld>
class Attention {
 public:
  static constexpr int kElements = Unit<T>::kElements;

  __device__ Attention(const PagedCall& call, const Tiling& tiling, const Task& task)
      : c_(call),
        t_(tiling),
        task_(task),
        keys_(keys_of_split(task, t_.keys)),
        key_count_(static_cast<int>(keys_.size())),
        shared_(t_, t_.vectors * t_.units * kElements) {
    while (t_.keys * quads() << part_bits_ < t_.threads && part_bits_ < 5 &&
           part_bits_ < t_.column_bits) {
      ++part_bits_;
    }
    int row_groups = 1;
    while (row_groups * kHeld < task.vectors) row_groups *= 2;
    const int group = thread_ >> t_.column_bits;
    column_ = thread_ & ((1 << t_.column_bits) - 1);
    first_held_ = group % row_groups * kHeld;
    row_groups_ = row_groups;
    key_groups_ = (t_.threads >> t_.column_bits) / row_groups;
    key_group_ = group / row_groups;
  }

  __device__ void run() {
    begin();
    const int stages = (key_count_ + t_.keys - 1) >> t_.key_bits;
    for (int i = 0; i < stages; ++i) {
      __pipeline_wait_prior(0);
      __syncthreads();
      load(i + 1);
      const Index next = element_of_key(i + 2);
      score(i);
      __syncthreads();
      online_softmax(i);
      __syncthreads();
      add_values(i);
      if (thread_ < t_.keys) shared_.elements[i % 2 * t_.keys + thread_] = next;
    }
    merge_threads();
  }

  __device__ void write_results(AnyResult out) const {
    for_each_held([&](int vector, int held) {
      const bool sees = shared_.seen[vector].x < shared_.seen[vector].y;
      const float factor = sees ? c_.to_result(q_head_of(c_, task_, vector), shared_.top[vector],
                                               shared_.sum[vector])
                                : 0;
      const Index to = element_of(c_, task_, vector);
      for_each_column(
          [&](Index column, int x) { put(out, to + column, sees ? sums_[held][x] * factor : 0); });
    });
  }

  __device__ void write_part(const Parts& parts) const {
    for_each_held([&](int vector, int held) {
      const Index to = task_.part * t_.vectors + vector;
      for_each_column(
          [&](Index column, int x) { parts.values[to * c_.dim + column] = sums_[held][x]; });
      if (column_ != 0) return;
      parts.top[to] = shared_.top[vector];
      parts.sum[to] = shared_.sum[vector];
    });
  }

 private:
  /// Returns the number of groups of four vectors, whose dot products are computed together.
  __device__ int quads() const { return (task_.vectors + 3) / 4; }
  __device__ int keys_in(int stage) const {
    const int left = key_count_ - stage * t_.keys;
    return left < t_.keys ? (left < 0 ? 0 : left) : t_.keys;
  }
  /// The index of a key's unit in a stage. Keys that a quarter of a warp reads together are in
  /// different banks, and so are the units of one key.
  __device__ int unit_index(int key, int unit) const {
    return key * row_units_ + (unit ^ (key << part_bits_ & 7));
  }
  __device__ uint4* stage(int i, int is_value) const {
    return shared_.stages + (i % 2 * 2 + is_value) * (row_units_ << t_.key_bits);
  }

  __device__ void begin() {
    const int warp = thread_ / 32, lane = thread_ % 32, width = t_.units * kElements;
    for (int v = warp; v < quads() * 4; v += t_.threads / 32) {
      const Index from = v < task_.vectors ? element_of(c_, task_, v) : 0;
      for (int x = lane; x < width; x += 32) {
        shared_.queries[v * width + x] =
            v < task_.vectors && x < c_.dim ? element(c_.queries, from + x) : 0.0f;
      }
    }
    for (int v = thread_; v < task_.vectors; v += t_.threads) {
      const Range seen = intersect(c_.visible(task_.sequence, row_of(c_, task_, v)), keys_);
      shared_.seen[v] = {static_cast<int>(seen.begin - keys_.begin),
                         static_cast<int>(seen.end - keys_.begin)};
      shared_.top[v] = kNothing, shared_.sum[v] = 0;
    }
    for (int i = 0; i < 2; ++i) {
      if (thread_ < t_.keys) shared_.elements[i * t_.keys + thread_] = element_of_key(i);
    }
    __syncthreads();
    load(0);
  }

  /// Where this thread's key of a stage begins in the cache.
  __device__ Index element_of_key(int i) const {
    if (thread_ >= keys_in(i)) return 0;
    const unsigned position = static_cast<unsigned>(keys_.begin + Index{i} * t_.keys + thread_);
    const unsigned size = static_cast<unsigned>(c_.page_size);
    const Index page = c_.tables[task_.sequence.table + position / size];
    return page * c_.page_stride + position % size * c_.slot_stride + task_.head * c_.head_stride;
  }

  /// Starts to load a stage.
  __device__ void load(int i) {
    const Index* const elements = shared_.elements + i % 2 * t_.keys;
    const T* const all_keys = reinterpret_cast<const T*>(c_.keys) + column_ * kElements;
    const T* const all_values = reinterpret_cast<const T*>(c_.values) + column_ * kElements;
    const int end = column_ < t_.units ? keys_in(i) : 0;
    for (int n = thread_ >> t_.column_bits; n < end; n += t_.threads >> t_.column_bits) {
      const int to = unit_index(n, column_);
      load(all_keys + elements[n], stage(i, 0) + to);
      load(all_values + elements[n], stage(i, 1) + to);
    }
    __pipeline_commit();
  }
  __device__ void load(const T* from, uint4* to) const {
    if (t_.aligned) {
      __pipeline_memcpy_async(to, from, kUnitBytes);
    } else {
      *reinterpret_cast<Unit<T>*>(to) = part_of_row(from);
    }
  }
  /// The thread's unit of a row; 0 past the end of the row.
  __device__ Unit<T> part_of_row(const T* from) const {
    Unit<T> unit;
#pragma unroll
    for (int x = 0; x < kElements; ++x) {
      if (column_ * kElements + x < c_.dim) {
        unit.x[x] = from[x];
      } else {
        store(0, &unit.x[x]);
      }
    }
    return unit;
  }

  /// The dot products of all vectors with the keys of a stage. 2^part_bits_ neighbouring lanes
  /// share a key.
  __device__ void score(int i) {
    const int all = quads() * t_.keys << part_bits_, parts = 1 << part_bits_;
    const int width = t_.units * kElements;
    const uint4* const keys = stage(i, 0);
    for (int first = 0; first < all; first += t_.threads) {
      const int n = first + thread_ < all ? first + thread_ : all - 1;
      const int part = n & (parts - 1), key = n >> part_bits_ & (t_.keys - 1);
      const int quad = n >> part_bits_ >> t_.key_bits;
      const float* const queries = shared_.queries + quad * 4 * width;
      float dots[4] = {};
      for (int unit = part; unit < t_.units; unit += parts) {
        add_dots(Floats<T>(keys + unit_index(key, unit)), queries + unit * kElements, width, dots);
      }
      for (int bit = 1; bit < parts; bit *= 2) {
#pragma unroll
        for (float& dot : dots) dot += __shfl_xor_sync(~0u, dot, bit);
      }
      if (part != 0 || first + thread_ >= all) continue;
      float4* const to =
          reinterpret_cast<float4*>(shared_.logits + key * t_.logit_stride() + quad * 4);
      *to = make_float4(dots[0], dots[1], dots[2], dots[3]);
    }
  }
  __device__ static void add_dots(const Floats<T>& k, const float* queries, int width,
                                  float (&dots)[4]) {
#pragma unroll
    for (int v = 0; v < 4; ++v) {
#pragma unroll
      for (int x = 0; x < kElements; x += 4) {
        const float4 q = *reinterpret_cast<const float4*>(queries + v * width + x);
        dots[v] += q.x * k.x[x];
        dots[v] += q.y * k.x[x + 1];
        dots[v] += q.z * k.x[x + 2];
        dots[v] += q.w * k.x[x + 3];
      }
    }
  }

  __device__ float logit(float dot) const {
    const float z = dot * c_.scale;
    return c_.soft_cap == 0 ? z : c_.soft_cap * tanhf(z / c_.soft_cap);
  }

  /// Turns the logits of a stage into weights. A warp takes one vector after another.
  __device__ void online_softmax(int i) {
    const int lane = thread_ % 32;
    for (int v = thread_ / 32; v < task_.vectors; v += t_.threads / 32) {
      float* const column = shared_.logits + v;
      const int2 seen = shared_.seen[v];
      const float before = shared_.top[v];
      float z[kMostKeys / 32] = {}, top = before, sum = 0;
      bool open[kMostKeys / 32] = {};
#pragma unroll
      for (int n = 0; n < kMostKeys / 32; ++n) {
        const int key = lane + 32 * n, at = i * t_.keys + key;
        open[n] = key < t_.keys && at >= seen.x && at < seen.y;
        if (!open[n]) continue;
        z[n] = logit(column[key * t_.logit_stride()]);
        top = fmaxf(top, z[n]);
      }
      top = max_of_lanes(top);
      const float shift = top == kNothing ? 0 : top;
#pragma unroll
      for (int n = 0; n < kMostKeys / 32; ++n) {
        const int key = lane + 32 * n;
        const float weight = open[n] ? expf(z[n] - shift) : 0;
        if (key < t_.keys) column[key * t_.logit_stride()] = open[n] ? weight : kClosed;
        sum += weight;
      }
      sum = sum_of_lanes(sum);
      __syncwarp();
      if (lane != 0) continue;
      const float rescale = rescale_factor(before, top);
      shared_.top[v] = top, shared_.rescale[v] = rescale;
      shared_.sum[v] = shared_.sum[v] * rescale + sum;
    }
  }

  /// Whether all vectors see all keys of a stage, all of which exist.
  __device__ bool is_whole(int i) const {
    return shared_.seen[task_.vectors - 1].x <= i * t_.keys &&
           shared_.seen[0].y >= (i + 1) * t_.keys;
  }

  __device__ void add_values(int i) {
    if (column_ >= t_.units || first_held_ >= task_.vectors) return;
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      const float rescale = shared_.rescale[first_held_ + held];
#pragma unroll
      for (float& sum : sums_[held]) sum *= rescale;
    }
    if (is_whole(i)) {
      add_values<false>(i);
    } else {
      add_values<true>(i);
    }
  }
  /// Adds the values of a stage, times their weights, to the thread's sums. Values of closed keys
  /// must not enter the sums even with weight 0: they may be NaN.
  template <bool kSomeClosed>
  __device__ void add_values(int i) {
    const int keys = keys_in(i);
    for (int key = key_group_; key < keys; key += key_groups_) {
      const Floats<T> v(stage(i, 1) + unit_index(key, column_));
      const float* const weights = shared_.logits + key * t_.logit_stride() + first_held_;
#pragma unroll
      for (int held = 0; held < kHeld; held += 4) {
        const float4 four = *reinterpret_cast<const float4*>(weights + held);
        const float weight[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          if (kSomeClosed && weight[n] == kClosed) continue;
#pragma unroll
          for (int x = 0; x < kElements; ++x) sums_[held + n][x] += weight[n] * v.x[x];
        }
      }
    }
  }

  /// Adds up the sums of threads that have the same vectors but took different keys, by repeatedly
  /// halving the number of these threads; the first of them get the results. The memory of the
  /// stages, which holds the sums, is free by now.
  __device__ void merge_threads() {
    float* const room = reinterpret_cast<float*>(shared_.stages);
    const int group_threads = row_groups_ << t_.column_bits, within = thread_ % group_threads;
    for (int half = key_groups_ / 2; half > 0; half /= 2) {
      __syncthreads();
      const bool gives = key_group_ >= half && key_group_ < 2 * half, takes = key_group_ < half;
      const int index = key_group_ % half * group_threads + within;
      if (gives) {
        for_each_sum([&](float& sum, int n) { room[n * (t_.threads / 2) + index] = sum; });
      }
      __syncthreads();
      if (takes) {
        for_each_sum([&](float& sum, int n) { sum += room[n * (t_.threads / 2) + index]; });
      }
    }
  }

  template <class F>
  __device__ void for_each_sum(F&& f) {
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
#pragma unroll
      for (int x = 0; x < kElements; ++x) f(sums_[held][x], held * kElements + x);
    }
  }
  /// Calls f(vector, held) for each vector whose final sums this thread holds, in sums_[held]; not
  /// at all in threads whose sums were merged into those of others.
  template <class F>
  __device__ void for_each_held(F&& f) const {
    if (key_group_ != 0 || column_ >= t_.units) return;
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      if (first_held_ + held < task_.vectors) f(first_held_ + held, held);
    }
  }
  template <class F>
  __device__ void for_each_column(F&& f) const {
#pragma unroll
    for (int x = 0; x < kElements; ++x) {
      const Index column = column_ * kElements + x;
      if (column < c_.dim) f(column, x);
    }
  }

  const PagedCall& c_;
  const Tiling& t_;
  const Task& task_;
  const Range keys_;
  const int key_count_;
  const int row_units_ = t_.row_units();
  const Shared shared_;
  const int thread_ = static_cast<int>(threadIdx.x);
  int part_bits_ = 0;
  int column_, first_held_;  // unit and first vector of the thread's sums
  // The sums are over keys key_group_, key_group_ + key_groups_, ... of each stage; row_groups_
  // groups of threads have different vectors.
  int row_groups_, key_group_, key_groups_;
  float sums_[kHeld][kElements] = {};
};

}  // namespace maskctl::attention::cuda
