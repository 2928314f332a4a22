// Merges the partial results of decoding of several warps or blocks.
#pragma once

#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/paged/decode/shape.cuh"

namespace maskctl::attention::cuda {

/// Floats that a lane loads or stores with one instruction.
template <int n>
struct alignas(n * 4) WideFloats {
  float x[n];
};

/// The result of one vector (a query head of a row), merged from partial results. Of every 32 n
/// dimensions, where n = kWide, lane l has dimensions l n .. l n + n - 1.
template <class Shape>
struct MergedVector {
  static constexpr int kWide = Shape::kDim < 128 ? Shape::kDim / 32 : 4;
  static constexpr int kMany = Shape::kDim / 32 / kWide;

  /// part(n) returns the address of the vector's partial result n.
  template <class F>
  __device__ MergedVector(int parts, F&& part) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int n = lane; n < parts; n += 32) top = fmaxf(top, part(n)[Shape::kDim]);
    top = max_of_lanes(top);
    const float shift = top == kNothing ? 0 : top;
    for (int first = 0; first < parts; first += 32) {
      const int here = parts - first < 32 ? parts - first : 32;
      float factor = 0;
      if (lane < here) {
        const float* const own = part(first + lane);
        factor = hopper::exp2_approximate(__fsub_rn(own[Shape::kDim], shift));
        sum += factor * own[Shape::kDim + 1];
      }
#pragma unroll 4
      for (int n = 0; n < here; ++n) {
        const float weight = __shfl_sync(~0u, factor, n);
        const float* const values = part(first + n) + lane * kWide;
#pragma unroll
        for (int i = 0; i < kMany; ++i) {
          const auto there = *reinterpret_cast<const WideFloats<kWide>*>(values + i * 32 * kWide);
#pragma unroll
          for (int x = 0; x < kWide; ++x) value[i].x[x] += weight * there.x[x];
        }
      }
    }
    sum = sum_of_lanes(sum);
  }
  __device__ void store(float* part) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < kMany; ++i) {
      *reinterpret_cast<WideFloats<kWide>*>(part + (i * 32 + lane) * kWide) = value[i];
    }
    if (lane == 0) part[Shape::kDim] = top, part[Shape::kDim + 1] = sum;
  }

  float top = kNothing, sum = 0;
  WideFloats<kWide> value[kMany] = {};
};

}  // namespace maskctl::attention::cuda
