// Prefill and decoding in one batch over a paged cache (version 3): writes the new keys and values
// into the cache, then attends.
#pragma once

#include <optional>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

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
  double softmax_scale = 1.0;             // not 1 / sqrt(D), as in ejkernel
  std::optional<Index> sliding_window;    // w keys, the row's own included; 1 or more
  std::optional<double> logits_soft_cap;  // cap * tanh(s / cap), above 0
  /// The query is divided by q_scale, clipped to what its dtype holds and rounded to it; logits are
  /// multiplied by q_scale and k_scale before the cap, the result by v_scale. Rows of the cache are
  /// not rescaled.
  std::optional<double> q_scale, k_scale, v_scale;
  Index num_kv_pages_per_block = 0, num_queries_per_block = 0;  // as RaggedPageAttentionOptions
  Backend backend = Backend::kCpu;
};

/// kv_cache [pages, page_size, ceil(2 Hkv / packing), packing, Dpad], packing = 32 / bits of the
/// dtype, Dpad = D rounded up to 128; K of head u at combined head 2u, V at 2u + 1.
/// First row i of a sequence with q rows is written at position kv_len - q + i of the cache
/// (padding lanes and heads as 0; nothing else changes), then as ragged_page_attention over the
/// updated cache. A page that one sequence writes should be read by no other. out [T,Hq,D].
/// Throws what ragged_page_attention throws, with the cache unchanged.
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3Inputs& inputs, Tensor& kv_cache,
                                const RaggedPageAttentionV3Options& options = {});

/// The form of ejkernel's modules: keys and values are in the pages already.
struct RaggedPageAttentionV3PagesInputs {
  const Tensor* query = nullptr;         // [T,Hq,D]
  const Tensor* key_pages = nullptr;     // [pages, page_size, Hkv, D]
  const Tensor* value_pages = nullptr;   // as key_pages
  const Tensor* cu_seqlens_q = nullptr;  // [N+1]: rows of each sequence
  const Tensor* cu_seqlens_k = nullptr;  // [N+1]: its number of tokens is the difference
  const Tensor* page_indices = nullptr;  // [N, pages per sequence]
  const Tensor* softmax_aux = nullptr;   // sinks, [Hq]
};

struct RaggedPageAttentionV3PagesOptions {
  std::optional<double> softmax_scale;  // 1 / sqrt(D), unlike the form above
  std::optional<Index> sliding_window;
  std::optional<double> logits_soft_cap;
  Index num_kv_pages_per_block = 0, num_queries_per_block = 0;  // as RaggedPageAttentionOptions
  Backend backend = Backend::kCpu;
};

/// As ragged_page_attention. Throws the same.
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3PagesInputs& inputs,
                                const RaggedPageAttentionV3PagesOptions& options = {});

}  // namespace maskctl::attention
