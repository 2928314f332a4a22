// The float64 reference of one rank of a ring, used only by ring attention.
#pragma once

#include "maskctl/attention/ring/shard.h"
#include "maskctl/attention/softmax/softmax_arrays.h"

namespace maskctl::attention {

/// Collects the keys and values of all ranks, then attends in float64 in one call. It merges no
/// partial results, so it can be used to check code that does.
SoftmaxResult ring_reference(Communicator& ring, const RingShard& shard, const Tensor& query,
                             const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& options);

/// The gradients of ring_reference(), in the form of ring_attention_shard_backward().
SoftmaxGradients ring_reference_backward(Communicator& ring, const RingShard& shard,
                                         const Tensor& query, const Tensor& key,
                                         const Tensor& value, const SoftmaxResult& forward,
                                         const Tensor& d_out, const RingAttentionOptions& options,
                                         const Tensor* d_lse);

}  // namespace maskctl::attention
