// blocksparse_attention: attention under static masks and block maps.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "maskctl/attention/softmax/masked_softmax.h"
#include "maskctl/attention/static_mask.h"

namespace maskctl::attention {

/// The mask of one query head, [1, 1, q_len, kv_len]. `num_reps` is the number of query heads of
/// one key head.
using MaskBuilder = std::function<StaticMask(Index q_len, Index kv_len, Index num_heads,
                                             Index head_index, Index num_reps)>;

/// The static mask is `static_mask` or what mask_builder gives. Without both it is
///   mask.chunk_size: j <= i inside chunks (causal and window have no part in it), else
///   mask.window, and causal unless switched off: mask.causal is ON by default, also beside
///   block_mask.
/// With positions causal and window compare those instead of indices and close cells of any static
/// mask. Segment ids, block_mask, block_map and mask close further cells.
struct BlocksparseAttentionOptions : DenseOptions {
  BlocksparseAttentionOptions() { mask.causal = true; }
  StaticMask static_mask;
  MaskBuilder mask_builder;  // over a mesh, devices call it at once, each on its thread
  /// The mesh axis over which the sharded form may split the queries, keys and values being whole
  /// on each device; without a mesh it names nothing.
  std::string sequence_parallelism_mesh_axis_name;
  /// The number of parts into which such devices split the queries; must divide Tq. Never changes
  /// the result.
  Index sequence_parts = 1;
  /// The index of the only part to compute: query, d_out and results have the rows of that part,
  /// all other arrays are whole, and gradients other than the query's are the part's share. Absent:
  /// all parts, one after another.
  std::optional<Index> sequence_part;
};

/// Heads before time: query [B,Hq,Tq,D], key [B,Hkv,Tk,D], value [B,Hkv,Tk,Dv] -> out [B,Hq,Tq,Dv],
/// lse [B,Hq,Tq]. Throws what softmax_forward and compose throw, before any work.
SoftmaxResult blocksparse_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const BlocksparseAttentionOptions& options = {});

/// Gradients of sum(out * d_out) + sum(lse * d_lse) for query, key, value (heads before time), bias
/// and softmax_aux. `forward` is what the same inputs and options gave.
SoftmaxGradients blocksparse_attention_backward(const Tensor& query, const Tensor& key,
                                                const Tensor& value, const SoftmaxResult& forward,
                                                const Tensor& d_out,
                                                const BlocksparseAttentionOptions& options = {},
                                                const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
