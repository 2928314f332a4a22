// Elements of the arrays of the linear family, and decays.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/linear/arrays.h"

namespace maskctl::attention::cuda {

/// Where the row of a head of a token begins.
__device__ inline Index row_of(const LinearRows& rows, Index token, Index head) {
  return (token * rows.heads + head / rows.group) * rows.width;
}

__device__ inline float element(const LinearRows& rows, Index i) {
  return AnyElements{rows.data, rows.dtype}[i];
}

__device__ inline void store_at(float x, const LinearResult& result, Index i) {
  if (result.dtype == DType::kFloat16) {
    store(x, static_cast<__half*>(result.data) + i);
  } else if (result.dtype == DType::kBFloat16) {
    store(x, static_cast<__nv_bfloat16*>(result.data) + i);
  } else {
    static_cast<float*>(result.data)[i] = x;
  }
}

/// The logarithm of the decay of a whole head.
__device__ inline float log_decay(const LinearHeadGates& gates, Index token, Index head) {
  float log = 0;
  if (gates.of_tokens.data) log += element(gates.of_tokens, row_of(gates.of_tokens, token, head));
  if (gates.of_heads.data) log += element(gates.of_heads, head);
  return log;
}

/// That of one channel alone.
__device__ inline float log_decay(const LinearAxis& axis, Index token, Index head, Index channel) {
  float log = 0;
  for (const LinearRows& gates : axis.gates) {
    if (gates.data) log += element(gates, row_of(gates, token, head) + channel);
  }
  return log;
}

}  // namespace maskctl::attention::cuda
