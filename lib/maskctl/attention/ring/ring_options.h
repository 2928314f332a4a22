// The options of ring attention.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/ring/assign.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/attention/softmax/dense_options.h"

namespace maskctl::attention {

/// Measurements of one step of one rank.
struct RingStep {
  Index bytes = 0;     // sent by this rank
  double seconds = 0;  // seconds of work, which overlaps with transfers
  double waited = 0;   // seconds of waiting for transfers, that is, for other ranks
};

/// Logits are cap(scale * q.k) + bias. Every rank has the bias, masks and segment ids of the whole
/// sequence, and indices refer to it. mask.causal_block_size is ignored with causal. On the
/// reference backend, each rank first collects all keys and values and then attends in float64.
struct RingAttentionOptions : DenseOptions {
  /// The mesh axis along which devices form the ring, for the sharded form; ignored without a mesh.
  std::string axis_name;
  /// The number of ranks of the ring that ring_attention makes inside this process. Must divide Tk
  /// and, if queries are contiguous, Tq. With kCuda, rank r runs on GPU r modulo the number of
  /// GPUs.
  Index ring_size = 1;
  Assign assign = Assign::kContiguous;  // which queries each rank has
  /// If set, this call is one rank of an existing ring: the arrays are the shards of this rank,
  /// ring_size is ignored, and ring_attention() behaves as ring_attention_shard().
  Communicator* ring = nullptr;
  /// The number of queries of all ranks together, if they are not evenly distributed; 0: this
  /// rank's queries times the number of ranks.
  Index all_queries = 0;
  std::vector<RingStep>* steps = nullptr;  // receives the steps of a shard's call; may be null
  bool deterministic = true;               // true: no dropout; false: softmax.dropout applies
  Index query_chunk_size = 512, key_chunk_size = 512;  // hints; never change the result
};

}  // namespace maskctl::attention
