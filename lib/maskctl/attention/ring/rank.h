// What one rank of ring attention does.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/ring/assign.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

/// One step of one rank of a ring.
struct RingStep {
  Index bytes = 0;     // that this rank sent
  double seconds = 0;  // of work, during which transfers run
  double waited = 0;   // for transfers, and so for other ranks
};

/// Logits are cap(scale * q.k) + bias. Bias, masks and segment ids are of the whole sequence on
/// every rank; indices count in the whole sequence. mask.causal_block_size counts only without
/// causal. With the reference, each rank collects all keys and values on their way, then
/// attends in float64.
struct RingAttentionOptions : DenseOptions {
  /// The mesh axis of the ring, for the sharded form; without a mesh it names nothing.
  std::string axis_name;
  /// Ranks of the ring that ring_attention makes inside the process. It must divide Tk, and Tq
  /// where queries are contiguous. With kCuda rank r works on GPU r, or r modulo their number.
  Index ring_size = 1;
  Assign assign = Assign::kContiguous;  // which queries each rank has
  /// Another ring, which this call is one rank of: its arrays are this rank's shards, ring_size is
  /// not read, and the functions for whole sequences do what those for a shard do.
  Communicator* ring = nullptr;
  /// Queries of all ranks, where shares are not equal; 0: this rank's queries times the ranks.
  Index all_queries = 0;
  std::vector<RingStep>* steps = nullptr;  // where a shard's call records its steps; null: nowhere
  bool deterministic = true;               // false: weights are dropped with softmax.dropout
  Index query_chunk_size = 512, key_chunk_size = 512;  // hints; never change the result
};

/// What one rank does, its arrays being shards of the time axis: the queries that
/// assigned_queries() gives it, one below the other, and an equal, contiguous share of the keys. At
/// step t rank a works on keys and values of rank (a - t) mod n; the transfer of the next ones
/// overlaps the work on these, and brings only tiles of 64 keys that its queries see; partial
/// results are merged by their lse. Options as above, except ring_size: the ring has its own size.
SoftmaxResult ring_attention_shard(Communicator& ring, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const RingAttentionOptions& options);

/// The gradients of this rank's shards: what other ranks add to the gradients of its keys and
/// values arrives in the order of the steps. Gradients of bias and softmax_aux are this rank's
/// part, in the whole shape: their sum over the ranks is the gradient.
SoftmaxGradients ring_attention_shard_backward(Communicator& ring, const Tensor& query,
                                               const Tensor& key, const Tensor& value,
                                               const SoftmaxResult& forward, const Tensor& d_out,
                                               const RingAttentionOptions& options,
                                               const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
