// Where rows of linear attention's arrays begin, and the log decays at a token.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/kernels/cuda/linear/arrays.h"

namespace maskctl::attention::cuda {

/// The index of a row's first element. `head` counts the heads of the array itself, [0,
/// rows.heads).
__device__ inline Index row_of(const LinearRows& rows, Index token, Index head) {
  return (token * rows.heads + head) * rows.width;
}

/// The log decay at a token that all channels of a head share.
__device__ inline float log_decay(const LinearHeadGates& gates, Index token, Index head) {
  const LinearRows &tokens = gates.of_tokens, &heads = gates.of_heads;
  float log = 0;
  if (tokens.any()) log += element(tokens.array, row_of(tokens, token, head));
  if (heads.any()) log += element(heads.array, head);
  return log;
}

/// The log decay of one channel at a token, without the part that all channels of the head share.
__device__ inline float log_decay(const LinearAxis& axis, Index token, Index head, Index channel) {
  float log = 0;
  for (const LinearRows& gates : axis.gates) {
    if (gates.any()) log += element(gates.array, row_of(gates, token, head) + channel);
  }
  return log;
}

}  // namespace maskctl::attention::cuda
