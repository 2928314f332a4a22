// blocksparse_attention: attention under static masks and block maps.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "maskctl/attention/calls/static_mask.h"
#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

/// Returns the mask of one query head, [1, 1, q_len, kv_len]. `num_reps` is the number of query
/// heads that share a key head.
using MaskBuilder = std::function<StaticMask(Index q_len, Index kv_len, Index num_heads,
                                             Index head_index, Index num_reps)>;

/// The static mask is `static_mask`, or what mask_builder returns. Without both it is
///   mask.chunk_size: j <= i inside each chunk (causal and window are ignored), or else
///   mask.window and mask.causal. causal is ON by default, also together with block_mask.
/// With positions, causal and window compare positions instead of indices and also close cells of a
/// static mask. Segment ids, block_mask, block_map and mask close further cells.
struct BlocksparseAttentionOptions : DenseOptions {
  BlocksparseAttentionOptions() { mask.causal = true; }
  StaticMask static_mask;
  MaskBuilder mask_builder;  // a mesh calls it from several threads at a time
  /// The mesh axis over which the sharded form may split the queries; each device then has all keys
  /// and values. Ignored without a mesh.
  std::string sequence_parallelism_mesh_axis_name;
  /// The number of equal parts into which the queries are split; must divide Tq. Does not change
  /// the result.
  Index sequence_parts = 1;
  /// If set, the call computes only this one of the sequence_parts parts of the queries: query,
  /// d_out and the results then have only the rows of that part, all other arrays are whole, and
  /// gradients other than the query's are sums over that part. If not set, all parts are computed
  /// one after another.
  std::optional<Index> sequence_part;
};

/// Heads come before time: query [B,Hq,Tq,D], key [B,Hkv,Tk,D], value [B,Hkv,Tk,Dv] -> out
/// [B,Hq,Tq,Dv], lse [B,Hq,Tq]. Throws what softmax_forward and compose throw, before any work.
SoftmaxResult blocksparse_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const BlocksparseAttentionOptions& options = {});

/// Gradients of sum(out * d_out) + sum(lse * d_lse) for query, key, value (heads before time), bias
/// and softmax_aux. `forward` is the result for the same inputs and options.
SoftmaxGradients blocksparse_attention_backward(const Tensor& query, const Tensor& key,
                                                const Tensor& value, const SoftmaxResult& forward,
                                                const Tensor& d_out,
                                                const BlocksparseAttentionOptions& options = {},
                                                const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
