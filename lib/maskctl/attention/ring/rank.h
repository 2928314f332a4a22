// The work of one rank in ring attention.
#pragma once

#include "maskctl/attention/ring/ring_options.h"
#include "maskctl/attention/softmax/softmax_arrays.h"

namespace maskctl::attention {

/// Runs one rank. Its arrays are shards along the time axis: the queries that assigned_queries()
/// gives it, concatenated, and a contiguous 1/n of the keys. At step t, rank a works on the keys
/// and values of rank (a - t) mod n, while those of the next step are transferred (only the tiles
/// of 64 keys that its queries see). Partial results are merged by their lse. ring_size is ignored.
SoftmaxResult ring_attention_shard(Communicator& ring, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const RingAttentionOptions& options);

/// The gradients of this rank's shards. The contributions of other ranks to the gradients of its
/// keys and values are added in the order of the steps. Gradients of bias and softmax_aux have the
/// whole shape, but are only this rank's contribution: the gradient is their sum over all ranks.
SoftmaxGradients ring_attention_shard_backward(Communicator& ring, const Tensor& query,
                                               const Tensor& key, const Tensor& value,
                                               const SoftmaxResult& forward, const Tensor& d_out,
                                               const RingAttentionOptions& options,
                                               const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
