// Decoding over a paged cache: one query of each sequence against all its tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Axes of a cache of pages. Unset: the layout that fits the heads of the queries and the lengths;
/// where both fit, the call must name one.
enum class KvLayout : std::uint8_t {
  kUnset,
  kHeadsFirst,   // [pages, Hkv, page_size, D]
  kTokensFirst,  // [pages, page_size, Hkv, D]
};

/// Borrowed arrays; query and caches are f32, f16 or bf16, of one dtype. Token p of sequence n is
/// in slot p % page_size of page block_tables[n, p / page_size].
struct PageAttentionInputs {
  const Tensor* query = nullptr;         // [N,Hq,D] or [N,1,Hq,D]
  const Tensor* key_cache = nullptr;     // by kv_layout
  const Tensor* value_cache = nullptr;   // as key_cache
  const Tensor* context_lens = nullptr;  // [N] integers: tokens of each sequence
  const Tensor* block_tables = nullptr;  // [N, pages per sequence] integers
};

struct PageAttentionOptions {
  std::optional<double> attn_scale;            // 1 / sqrt(D)
  std::optional<double> attn_logits_soft_cap;  // cap * tanh(s / cap), above 0
  KvLayout kv_layout = KvLayout::kUnset;
  std::optional<Index> max_context_len;  // when given, no sequence may be longer
  /// Hints, 0 = automatic: parts of a sequence that threads share, pages that are read at a time.
  Index num_splits = 0, pages_per_compute_block = 0;
  Context context = {};
};

/// The layout of the cache. Throws Error(kInvalidArgument) where it is unset and both fit.
KvLayout layout_of(const PageAttentionInputs& inputs, const PageAttentionOptions& options);

/// out[n,h] = softmax over p < context_lens[n] of scale * q.k_p, times v_p, in the shape and dtype
/// of the query; 0 for an empty sequence. Table entries past a sequence are never read.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit, a
/// length below 0 or past the table, an entry that will be read and is no page of the cache, a soft
/// cap that is not above 0; and what layout_of throws.
Tensor page_attention(const PageAttentionInputs& inputs, const PageAttentionOptions& options = {});

}  // namespace maskctl::attention
