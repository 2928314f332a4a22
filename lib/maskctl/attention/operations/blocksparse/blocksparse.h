// ejkernel's blocksparse_attention: attention under lazy masks and block maps.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/mask/lazy/lazy_mask.h"

namespace maskctl::attention {

/// The mask of one query head: [q_len, kv_len]. `num_reps` is the number of query heads of one key
/// head.
using MaskBuilder = std::function<lazy::MaskPtr(Index q_len, Index kv_len, Index num_heads,
                                                Index head_index, Index num_reps)>;

/// The seed's parameters; every tensor may be absent. Logits are cap(scale * q.k + bias).
///
/// The static mask is `mask` or what mask_builder gives. Without both it is
///   chunk_size: j <= i inside chunks (causal and sliding_window have no part in it), else
///   sliding_window, and causal unless switched off: `causal` is ON by default, also beside
///   block_mask.
/// With positions (given, stored in mask_info, or counted in its segments when it stores no mask)
/// causal and sliding_window compare those instead of indices and close cells of any static mask.
/// Segment ids, block_mask, block_map, cell_mask and mask_info close further cells.
struct BlocksparseAttentionOptions {
  const Tensor* softmax_aux = nullptr;    // sinks: [n], or [Hq, n] or [Hkv, n]
  const Tensor* bias = nullptr;           // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  const MaskInfo* mask_info = nullptr;    // its mask or segment ids, and positions
  const Tensor* q_segment_ids = nullptr;  // [B,Tq], negative = padding
  const Tensor* kv_segment_ids = nullptr;
  const Tensor* q_positions = nullptr;  // [B,Tq]
  const Tensor* kv_positions = nullptr;
  lazy::MaskPtr mask;  // [Tq,Tk] or [Hq,Tq,Tk]
  MaskBuilder mask_builder;
  const Tensor* block_mask = nullptr;  // bool [nq,nk], [H,nq,nk] or [B,H,nq,nk]
  Index block_size = 64;
  const BlockMap* block_map = nullptr;  // the seed's qkv_layouts: a mask compiled for kernels
  const Mask* cell_mask = nullptr;      // [B or 1, 1 or Hq, Tq, Tk]
  std::optional<double> logits_soft_cap;
  std::optional<double> softmax_scale;  // 1 / sqrt(D)
  std::optional<Window> sliding_window;
  std::optional<Index> chunk_size;
  bool causal = true;
  EmptyRow empty_row = EmptyRow::kZero;
  /// The mesh axis over which the sharded form may split the queries, keys and values being whole
  /// on each device; without a mesh it names nothing.
  std::string sequence_parallelism_mesh_axis_name;
  /// Into how many parts such devices split the queries; must divide Tq. Never changes the result.
  Index sequence_parts = 1;
  Index q_blocksize = 0, kv_blocksize = 0;  // hints; 0 = our choice; never change the result
  Backend backend = Backend::kCpu;
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
