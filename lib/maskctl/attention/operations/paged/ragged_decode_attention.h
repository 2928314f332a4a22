// Decoding over a dense cache: one query per batch row attends to a range of the keys of that row.
#pragma once

#include <optional>

#include "maskctl/attention/calls/window.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Borrowed arrays. query, key and value have the same dtype: f32, f16 or bf16.
struct RaggedDecodeAttentionInputs {
  const Tensor* query = nullptr;           // [B,Hq,D] or [B,1,Hq,D]
  const Tensor* key = nullptr;             // [B,S,Hkv,D]
  const Tensor* value = nullptr;           // as key
  const Tensor* sequence_start = nullptr;  // [B] integers: first key
  const Tensor* sequence_end = nullptr;    // [B] integers: past the last key
  const Tensor* softmax_aux = nullptr;     // sinks, [n], [Hkv,n] or [Hq,n]
};

struct RaggedDecodeAttentionOptions {
  std::optional<double> softmax_scale;    // default: 1 / sqrt(D)
  std::optional<Window> sliding_window;   // sides must not be negative
  std::optional<double> logits_soft_cap;  // s becomes cap * tanh(s / cap); above 0
  Index kv_blocksize = 0;                 // a hint: keys that are read at a time; 0: automatic
  Context context = {};
};

/// The query of row b is at position end - 1 and sees the keys start <= j < end inside the window.
/// out has the shape and dtype of the query; 0 for an empty range.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit, ranges
/// other than 0 <= start <= end <= S, a negative window, a soft cap that is not above 0.
Tensor ragged_decode_attention(const RaggedDecodeAttentionInputs& inputs,
                               const RaggedDecodeAttentionOptions& options = {});

}  // namespace maskctl::attention
