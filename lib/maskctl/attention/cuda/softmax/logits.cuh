// How softmax kernels make logits of products, and what dropout and sinks do to weights.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/softmax/params.h"
#include "maskctl/attention/problems/dropout.h"

namespace maskctl::attention::cuda {

inline constexpr float kInfinity = __builtin_huge_valf();

/// The logit of query i and key j in batch entry b and query head h, where `product` is q . k.
/// `derivative` becomes its derivative with respect to the scaled product.
__device__ inline float logit(const SoftmaxParams& p, Index b, Index h, Index i, Index j,
                              float product, float& derivative) {
  float s = p.scale * product;
  derivative = 1;
  if (!p.bias.data && p.soft_cap == 0) return s;
  float bias = 0;
  if (p.bias.data) {
    bias = element(p.bias, b * p.bias_stride[0] + h * p.bias_stride[1] + i * p.bias_stride[2] +
                               j * p.bias_stride[3]);
  }
  if (!p.bias_after_cap) s += bias;
  if (p.soft_cap != 0) {
    const float t = tanhf(s / p.soft_cap);
    s = p.soft_cap * t;
    derivative = 1 - t * t;
  }
  return p.bias_after_cap ? s + bias : s;
}

/// The factor by which dropout multiplies a weight; 1 without dropout.
__device__ inline float multiplier(const SoftmaxParams& p, Index b, Index h, Index i, Index j) {
  if (p.dropout == 0) return 1;
  return dropout_multiplier(p.dropout_seed, p.dropout, p.first_batch + b, p.first_head + h,
                            p.first_query + i, p.first_key + j);
}

/// The logit of sink t for query head h.
__device__ inline float sink(const SoftmaxParams& p, Index h, Index t) {
  const Index row = p.heads_of_sinks == 0 ? 0 : h / p.heads_of_sinks;
  return element(p.sinks, row * p.sink_count + t);
}

/// Adds a head's sinks to the maximum and the sum of a row. Returns the factor that rescales the
/// row's weights.
__device__ inline float add_sinks(const SoftmaxParams& p, Index h, float& max, float& sum) {
  const float keys_max = max;
  for (Index t = 0; t < p.sink_count; ++t) max = fmaxf(max, sink(p, h, t));
  if (max == -kInfinity) return 1;
  const float rescale = rescale_factor(keys_max, max);
  sum *= rescale;
  for (Index t = 0; t < p.sink_count; ++t) sum += expf(sink(p, h, t) - max);
  return rescale;
}

}  // namespace maskctl::attention::cuda
