// Paged decoding: one query of each sequence attends to all tokens of that sequence.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// The axis order of a paged cache. kUnset: the order that fits the query heads and the lengths; if
/// both fit, the caller must choose one.
enum class KvLayout : std::uint8_t {
  kUnset,
  kHeadsFirst,   // [pages, Hkv, page_size, D]
  kTokensFirst,  // [pages, page_size, Hkv, D]
};

/// Borrowed arrays. query and caches have the same dtype: f32, f16 or bf16. Token p of sequence n
/// is in slot p % page_size of page block_tables[n, p / page_size].
struct PageAttentionInputs {
  const Tensor* query = nullptr;         // [N,Hq,D] or [N,1,Hq,D]
  const Tensor* key_cache = nullptr;     // axes: see KvLayout
  const Tensor* value_cache = nullptr;   // as key_cache
  const Tensor* context_lens = nullptr;  // [N] integers: tokens of each sequence
  const Tensor* block_tables = nullptr;  // [N, pages per sequence] integers
};

struct PageAttentionOptions {
  std::optional<double> attn_scale;            // default: 1 / sqrt(D)
  std::optional<double> attn_logits_soft_cap;  // s becomes cap * tanh(s / cap); above 0
  KvLayout kv_layout = KvLayout::kUnset;
  std::optional<Index> max_context_len;  // if set, no sequence may be longer
  /// Hints, 0 = automatic: into how many parts threads split a sequence, and how many pages they
  /// read at a time.
  Index num_splits = 0, pages_per_compute_block = 0;
  Context context = {};
};

/// The axis order of the cache. Throws Error(kInvalidArgument) if it is kUnset and both orders fit.
KvLayout layout_of(const PageAttentionInputs& inputs, const PageAttentionOptions& options);

/// out[n,h] = sum_p w_p v_p, with w = softmax(scale * q.k_p) over p < context_lens[n], in the shape
/// and dtype of the query; 0 for an empty sequence. Table entries past the end of a sequence are
/// not read.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit, a
/// length below 0 or beyond the table, a table entry that will be read but is no page of the cache,
/// a soft cap that is not above 0; also throws what layout_of throws.
Tensor page_attention(const PageAttentionInputs& inputs, const PageAttentionOptions& options = {});

}  // namespace maskctl::attention
