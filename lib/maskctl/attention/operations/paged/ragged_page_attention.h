// Prefill and decoding in one batch over a paged cache (versions 2 and 3): sequences of any
// number of query rows, packed.
#pragma once

#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
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
  Context context = {};
};

/// Row i of a sequence with q rows is at position pos = context_len - q + i and sees the keys
/// pos - w < j <= pos. out [T,Hq,D] in the dtype of the queries; rows of no sequence are 0.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit,
/// query_start_loc that falls or ends past T, a sequence shorter than its rows or longer than its
/// table, an entry that will be read and is no page of the cache, a window below 1, a soft cap that
/// is not above 0.
Tensor ragged_page_attention(const RaggedPageAttentionInputs& inputs,
                             const RaggedPageAttentionOptions& options = {});

// Version 3, which writes the new keys and values into the cache, then attends.

/// Borrowed arrays, all floats f32, f16 or bf16 of one dtype (sinks any). Rows, positions and pages
/// as in RaggedPageAttentionInputs.
struct RaggedPageAttentionV3Inputs {
  const Tensor* queries = nullptr;          // [T,Hq,D]
  const Tensor* keys = nullptr;             // [T,Hkv,D]: of the new tokens
  const Tensor* values = nullptr;           // as keys
  const Tensor* kv_lens = nullptr;          // [N] integers: tokens, the new ones included
  const Tensor* block_tables = nullptr;     // [N * pages per sequence] integers
  const Tensor* query_start_loc = nullptr;  // [N+1] nondecreasing integers from 0
  /// [3] integers: sequences before the first decode, before the second prefill; the third is their
  /// number. Only the number has a meaning here; the others are checked to ascend to it.
  const Tensor* distribution = nullptr;
  const Tensor* attention_sink = nullptr;  // [Hq]: one sink for each head
};

struct RaggedPageAttentionV3Options {
  double softmax_scale = 1.0;             // not 1 / sqrt(D)
  std::optional<Index> sliding_window;    // w keys, the row's own included; 1 or more
  std::optional<double> logits_soft_cap;  // cap * tanh(s / cap), above 0
  /// The query is divided by q_scale, clipped to what its dtype holds and rounded to it; logits are
  /// multiplied by q_scale and k_scale before the cap, the result by v_scale. Rows of the cache are
  /// not rescaled.
  std::optional<double> q_scale, k_scale, v_scale;
  Index num_kv_pages_per_block = 0, num_queries_per_block = 0;  // as RaggedPageAttentionOptions
  Context context = {};
};

/// kv_cache [pages, page_size, ceil(2 Hkv / packing), packing, Dpad], packing = 32 / bits of the
/// dtype, Dpad = D rounded up to 128; K of head u at combined head 2u, V at 2u + 1.
/// First row i of a sequence with q rows is written at position kv_len - q + i of the cache
/// (padding lanes and heads as 0; nothing else changes), then as ragged_page_attention over the
/// updated cache. A page that one sequence writes should be read by no other. out [T,Hq,D].
/// Throws what ragged_page_attention throws, with the cache unchanged.
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3Inputs& inputs, Tensor& kv_cache,
                                const RaggedPageAttentionV3Options& options = {});

/// Another form: keys and values are in the pages already.
struct RaggedPageAttentionV3PagesInputs {
  const Tensor* query = nullptr;         // [T,Hq,D]
  const Tensor* key_pages = nullptr;     // [pages, page_size, Hkv, D]
  const Tensor* value_pages = nullptr;   // as key_pages
  const Tensor* cu_seqlens_q = nullptr;  // [N+1]: rows of each sequence
  const Tensor* cu_seqlens_k = nullptr;  // [N+1]: its number of tokens is the difference
  const Tensor* page_indices = nullptr;  // [N, pages per sequence]
  const Tensor* softmax_aux = nullptr;   // sinks, [Hq]
};

/// As ragged_page_attention, with its scale too. Throws the same.
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3PagesInputs& inputs,
                                const RaggedPageAttentionOptions& options = {});

}  // namespace maskctl::attention
