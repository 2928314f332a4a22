// Prefill and decoding in one batch over a paged cache (version 2): sequences of any number of
// query rows, packed.
#pragma once

#include <optional>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Borrowed arrays; queries and kv_pages are f32, f16 or bf16, of one dtype. Sequence n owns the
/// rows query_start_loc[n] .. query_start_loc[n + 1] - 1; token p of it is in slot p % page_size of
/// page block_tables[n, p / page_size].
struct RaggedPageAttentionInputs {
  const Tensor* queries = nullptr;       // [T,Hq,D]
  const Tensor* kv_pages = nullptr;      // [pages, page_size, 2 Hkv, D]: K of head u at 2u, V next
  const Tensor* context_lens = nullptr;  // [N] integers: tokens, those of the rows included
  const Tensor* block_tables = nullptr;  // [N, pages per sequence] integers
  const Tensor* query_start_loc = nullptr;  // [N+1] nondecreasing integers from 0
  const Tensor* num_seqs = nullptr;         // one integer: only so many sequences count; absent: N
  const Tensor* softmax_aux = nullptr;      // sinks, [n], [Hkv,n] or [Hq,n]
};

struct RaggedPageAttentionOptions {
  std::optional<double> softmax_scale;    // 1 / sqrt(D)
  std::optional<double> logits_soft_cap;  // cap * tanh(s / cap), above 0
  std::optional<Index> sliding_window;    // w keys, the row's own included; 1 or more
  /// Hints, 0 = automatic: pages that are read at a time where a sequence has few rows, and rows of
  /// a tile where it has many.
  Index num_kv_pages_per_block = 0, num_queries_per_block = 0;
  Backend backend = Backend::kCpu;
};

/// Row i of a sequence with q rows is at position pos = context_len - q + i and sees the keys
/// pos - w < j <= pos. out [T,Hq,D] in the dtype of the queries; rows of no sequence are 0.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit,
/// query_start_loc that falls or ends past T, a sequence shorter than its rows or longer than its
/// table, an entry that will be read and is no page of the cache, a window below 1, a soft cap that
/// is not above 0.
Tensor ragged_page_attention(const RaggedPageAttentionInputs& inputs,
                             const RaggedPageAttentionOptions& options = {});

}  // namespace maskctl::attention
