// The elements (cells) of a state that a lane keeps in registers, and how a token updates them.
#pragma once

#include "maskctl/kernels/cuda/linear/chunks.cuh"

namespace maskctl::attention::cuda::linear {

/// Loads adjacent floats of shared memory as one vector.
__device__ inline void load_neighbours(const float* from, float (&to)[2]) {
  const float2 x = *reinterpret_cast<const float2*>(from);
  to[0] = x.x, to[1] = x.y;
}
__device__ inline void load_neighbours(const float* from, float (&to)[4]) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}

/// Sums each of n numbers over the kLanesX lanes along x. Lane x returns the sum of sums[x % n].
template <int n>
__device__ float sum_over_x(float (&sums)[n], int lane_x) {
#pragma unroll
  for (int half = n / 2; half > 0; half /= 2) {
    const bool upper = (lane_x & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float kept = upper ? sums[i + half] : sums[i];
      sums[i] = kept + __shfl_xor_sync(~0u, upper ? sums[i] : sums[i + half], half);
    }
  }
#pragma unroll
  for (int bit = n; bit < kLanesX; bit *= 2) sums[0] += __shfl_xor_sync(~0u, sums[0], bit);
  return sums[0];
}

/// The cells of a state that a lane has, in registers.
template <int groups, int per_lane>
struct Cells {
  using T = Tile<groups, per_lane>;
  float cell[T::kCells][per_lane];
  int lane_x, x, y;  // (x, y): the lane's first cell in the tile

  __device__ Cells()
      : lane_x(static_cast<int>(threadIdx.x) % kLanesX),
        x(4 * lane_x),
        y(static_cast<int>(threadIdx.x) / kLanesX * per_lane) {}

  /// Calls f(i, j, index) with the index of cell[i][j] in an array of states. Cells past the widths
  /// of the state are skipped.
  template <class F>
  __device__ void each(const LinearWalk& w, const WalkPart& at, Index state, F f) const {
    const Index begin = (state * w.heads + at.head) * w.from.width * w.to.width;
#pragma unroll
    for (int i = 0; i < T::kCells; ++i) {
      const Index from = at.first_x + x + i / 4 * 32 + i % 4;
#pragma unroll
      for (int j = 0; j < per_lane; ++j) {
        const Index to = at.first_y + y + j;
        if (from < w.from.width && to < w.to.width) {
          f(i, j, begin + from * w.from.stride + to * w.to.stride);
        }
      }
    }
  }

  __device__ void load(const LinearWalk& w, const WalkPart& at) {
#pragma unroll
    for (auto& row : cell) {
#pragma unroll
      for (float& value : row) value = 0;
    }
    if (!w.first.data) return;
    with_type(w.first.dtype, [&]<class E>(const E*) {
      const E* const states = static_cast<const E*>(w.first.data);
      each(w, at, at.sequence, [&](int i, int j, Index n) { cell[i][j] = to_float(states[n]); });
    });
  }

  __device__ void store(const LinearWalk& w, const WalkPart& at, Index state,
                        const AnyResult& to) const {
    each(w, at, state, [&](int i, int j, Index n) { put(to, n, cell[i][j]); });
  }

  /// The decay of cell[i][j] at a step.
  __device__ float decay(const Staged<T>& staged, int step, bool by_x, int i, int j) const {
    const float decay_y = staged.decay_y[step * T::kY + y + j];
    return by_x ? decay_y * staged.decay[step * T::kX + x + i / 4 * 32 + i % 4] : decay_y;
  }
  __device__ void decay_all(const Staged<T>& staged, int step, bool by_x) {
#pragma unroll
    for (int i = 0; i < T::kCells; ++i) {
#pragma unroll
      for (int j = 0; j < per_lane; ++j) cell[i][j] *= decay(staged, step, by_x, i, j);
    }
  }

  /// One step of the recurrence: decays the cells, sums read * cell over x, and then adds write *
  /// write_y to the cells.
  template <bool by_x, bool by_y>
  __device__ __forceinline__ void take(const Staged<T>& staged, int step) {
    float sums[per_lane] = {}, written[per_lane], decay_y[per_lane];
    load_neighbours(staged.write_y + step * T::kY + y, written);
    if (by_y) load_neighbours(staged.decay_y + step * T::kY + y, decay_y);
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      const int at = step * T::kX + group * 32 + x;
      float read[4], write[4], decay_x[4];
      load_neighbours(staged.read + at, read);
      load_neighbours(staged.write + at, write);
      if (by_x) load_neighbours(staged.decay + at, decay_x);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < per_lane; ++j) {
          float& value = cell[4 * group + i][j];
          if (by_x && by_y) value *= decay_x[i] * decay_y[j];
          if (by_x && !by_y) value *= decay_x[i];
          if (!by_x) value *= decay_y[j];
          sums[j] += read[i] * value;
          value += write[i] * written[j];
        }
      }
    }
    const float sum = sum_over_x(sums, lane_x);
    if (lane_x < per_lane) staged.sums[step * T::kY + y + lane_x] = sum;
  }

  template <bool by_x, bool by_y>
  __device__ __forceinline__ void take_all(const Staged<T>& staged, int count) {
#pragma unroll 2
    for (int step = 0; step < count; ++step) take<by_x, by_y>(staged, step);
  }
};

}  // namespace maskctl::attention::cuda::linear
