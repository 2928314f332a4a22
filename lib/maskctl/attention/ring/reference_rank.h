// The reference of one rank of a ring; private to ring attention.
#pragma once

#include "maskctl/attention/ring/shard.h"

namespace maskctl::attention {

/// All keys and values are collected as they pass, then the float64 reference attends at once:
/// nothing is merged, so that this judges the merging.
SoftmaxResult ring_reference(Communicator& ring, const RingShard& shard, const Tensor& query,
                             const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& options);

/// Its gradients, as ring_attention_shard_backward gives them.
SoftmaxGradients ring_reference_backward(Communicator& ring, const RingShard& shard,
                                         const Tensor& query, const Tensor& key,
                                         const Tensor& value, const SoftmaxResult& forward,
                                         const Tensor& d_out, const RingAttentionOptions& options,
                                         const Tensor* d_lse);

}  // namespace maskctl::attention
