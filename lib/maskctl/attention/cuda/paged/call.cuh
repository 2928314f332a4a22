// The arguments of paged attention as its kernels read them.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/paged/plan.h"

namespace maskctl::attention::cuda {

inline constexpr float kNothing = -__builtin_huge_valf();  // -inf: the maximum of no logits

/// PagedProblem without its sequences.
struct PagedCall {
  AnyArray queries;
  const std::byte *keys, *values;
  const std::int32_t* tables;
  Index rows, q_heads, kv_heads, group, dim;
  Index pages, page_size, page_stride, slot_stride, head_stride;
  Index left;
  float scale, value_scale, soft_cap;  // soft_cap: 0 without a cap
  AnyArray sinks;
  Index sinks_of_head, heads_of_sinks;  // sinks per row of `sinks`; query heads that share a row

  /// The positions of keys that a row of queries sees.
  __device__ Range visible(const PagedSequence& s, Index row) const {
    const Index position = s.keys.end - s.rows.end + row;
    const Index first = position - left;
    return {first > s.keys.begin ? first : s.keys.begin, position + 1};
  }
  /// The positions of keys that any row of a sequence sees.
  __device__ Range read(const PagedSequence& s) const {
    if (s.rows.empty() || s.keys.empty()) return {};
    return {visible(s, s.rows.begin).begin, s.keys.end};
  }
  /// The factor by which sums of exp(logit - top) * value are multiplied to get the result. The
  /// factor takes in the head's sinks and value_scale. `sum`: the sum of exp(logit - top).
  __device__ float to_result(Index q_head, float top, float sum) const {
    const Index first = q_head / heads_of_sinks * sinks_of_head;
    float highest = top, total = 0;
    for (Index i = 0; i < sinks_of_head; ++i) highest = fmaxf(highest, element(sinks, first + i));
    for (Index i = 0; i < sinks_of_head; ++i) total += expf(element(sinks, first + i) - highest);
    const float factor = rescale_factor(top, highest);
    return factor / (total + sum * factor) * value_scale;
  }
};

/// Fills a PagedCall from host-side data, without reading any array on the GPU.
PagedCall call_of(const PagedProblem& problem, const PagedPlan& plan);

}  // namespace maskctl::attention::cuda
