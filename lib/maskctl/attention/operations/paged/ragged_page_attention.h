// Paged attention for prefill and decoding in one batch (versions 2 and 3). Sequences have any
// number of query rows, which are packed.
#pragma once

#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Borrowed arrays. queries and kv_pages have the same dtype: f32, f16 or bf16. Sequence n has the
/// query rows query_start_loc[n] .. query_start_loc[n + 1] - 1; its token p is in slot p %
/// page_size of page block_tables[n, p / page_size].
struct RaggedPageAttentionInputs {
  const Tensor* queries = nullptr;       // [T,Hq,D]
  const Tensor* kv_pages = nullptr;      // [pages, page_size, 2 Hkv, D]: K of head u at 2u, then V
  const Tensor* context_lens = nullptr;  // [N] integers: tokens, including those of the query rows
  const Tensor* block_tables = nullptr;  // [N, pages per sequence] integers
  const Tensor* query_start_loc = nullptr;  // [N+1] nondecreasing integers from 0
  const Tensor* num_seqs = nullptr;         // one integer: number of sequences; null: N
  const Tensor* softmax_aux = nullptr;      // sinks, [n], [Hkv,n] or [Hq,n]
};

struct RaggedPageAttentionOptions {
  std::optional<double> softmax_scale;    // default: 1 / sqrt(D)
  std::optional<double> logits_soft_cap;  // s becomes cap * tanh(s / cap); above 0
  std::optional<Index> sliding_window;    // w keys, including the row's own; 1 or more
  /// Hints, 0 = automatic: pages read at a time (sequences with few query rows), and query rows per
  /// tile (sequences with many).
  Index num_kv_pages_per_block = 0, num_queries_per_block = 0;
  Context context = {};
};

/// Row i of a sequence with q rows is at position pos = context_len - q + i and sees the keys pos -
/// w < j <= pos. out [T,Hq,D] has the dtype of the queries; rows that belong to no sequence are 0.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit,
/// query_start_loc that decreases or ends past T, a sequence shorter than its query rows or longer
/// than its table, a table entry that will be read but is no page of the cache, a window below 1, a
/// soft cap that is not above 0.
Tensor ragged_page_attention(const RaggedPageAttentionInputs& inputs,
                             const RaggedPageAttentionOptions& options = {});

// Version 3, which first writes the new keys and values to the cache and then attends.

/// Borrowed arrays. All floats but the sinks have the same dtype: f32, f16 or bf16. Query rows,
/// positions and pages are as in RaggedPageAttentionInputs.
struct RaggedPageAttentionV3Inputs {
  const Tensor* queries = nullptr;          // [T,Hq,D]
  const Tensor* keys = nullptr;             // [T,Hkv,D]: keys of the new tokens
  const Tensor* values = nullptr;           // as keys
  const Tensor* kv_lens = nullptr;          // [N] integers: tokens, including the new ones
  const Tensor* block_tables = nullptr;     // [N * pages per sequence] integers
  const Tensor* query_start_loc = nullptr;  // [N+1] nondecreasing integers from 0
  /// [3] nondecreasing integers from 0: where the decoding sequences end, where the sequences of
  /// chunked prefill end, and the number of sequences. Only that number affects the result.
  const Tensor* distribution = nullptr;
  const Tensor* attention_sink = nullptr;  // [Hq]: one sink per head
};

struct RaggedPageAttentionV3Options {
  double softmax_scale = 1.0;             // the default is 1, not 1 / sqrt(D)
  std::optional<Index> sliding_window;    // w keys, including the row's own; 1 or more
  std::optional<double> logits_soft_cap;  // s becomes cap * tanh(s / cap); above 0
  /// The query is divided by q_scale, clipped to the range of its dtype and rounded to it. Logits
  /// are multiplied by q_scale * k_scale before the soft cap, and the result by v_scale. The
  /// contents of the cache are not scaled.
  std::optional<double> q_scale, k_scale, v_scale;
  Index num_kv_pages_per_block = 0, num_queries_per_block = 0;  // see RaggedPageAttentionOptions
  Context context = {};
};

/// kv_cache is [pages, page_size, ceil(2 Hkv / packing), packing, Dpad], where packing = 32 / bits
/// of the dtype and Dpad is D rounded up to a multiple of 128. K of head u is at combined head 2u,
/// V at 2u + 1.
/// First, row i of the q new rows of a sequence is written to the cache at position kv_len - q + i
/// (with zeros in the padding of D); then the result is that of ragged_page_attention over the
/// updated cache. A page that one sequence writes should not be read by another. out [T,Hq,D].
/// Throws what ragged_page_attention throws; the cache is then unchanged.
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3Inputs& inputs, Tensor& kv_cache,
                                const RaggedPageAttentionV3Options& options = {});

/// A second form of version 3, for pages that already contain the new keys and values.
struct RaggedPageAttentionV3PagesInputs {
  const Tensor* query = nullptr;         // [T,Hq,D]
  const Tensor* key_pages = nullptr;     // [pages, page_size, Hkv, D]
  const Tensor* value_pages = nullptr;   // as key_pages
  const Tensor* cu_seqlens_q = nullptr;  // [N+1]: query rows of each sequence, cumulative
  const Tensor* cu_seqlens_k = nullptr;  // [N+1]: tokens of each sequence, cumulative
  const Tensor* page_indices = nullptr;  // [N, pages per sequence]
  const Tensor* softmax_aux = nullptr;   // sinks, [Hq]
};

/// Like ragged_page_attention, with the same default scale; throws the same.
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3PagesInputs& inputs,
                                const RaggedPageAttentionOptions& options = {});

}  // namespace maskctl::attention
