// A packed batch as variable-length kernels take it: its rows concatenated to one sequence.
#pragma once

#include <cstdint>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// What happens to tokens outside documents. kSegments: they form segments of their own, which see
/// themselves. kDrop: they are removed, as when a batch is unpadded first.
enum class PaddingTokens : std::uint8_t { kSegments, kDrop };

/// The arguments of a variable-length call over the flattened batch, in which token t of row b has
/// number b * S + t.
/// Sources: flash_attn_varlen_func and unpad_input of flash-attention.
struct Varlen {
  Tensor cu_q, cu_kv;  // [N+1] int32: 0, then the end of each segment, row by row
  Index max_q = 0;     // the longest segment of each side
  Index max_kv = 0;
  Tensor q_indices;  // int64, only for kDrop: numbers of the tokens kept
  Tensor kv_indices;
  Index documents = 0;        // number of documents in all rows
  Index padding = 0;          // queries outside documents
  Mask mask;                  // [B,1,Q,K]: the documents, and segments of padding if kept
  Index changed = 0;          // cells in which `mask` differs from the mask given
  Index lost = 0;             // changed cells outside segments of padding; 0 if needs_causal
  bool needs_causal = false;  // exact only if the kernel is called with causal=True
};

/// True when `mask` is what remains of `documents` under a kernel's causal flag. False when the
/// numbers of queries and keys differ.
bool is_causal_part(const Mask& mask, const Mask& documents);

/// Uses the documents of each row that nearest_cu_seqlens finds in the union of the row's heads.
Varlen varlen_batch(const Mask& mask, PaddingTokens padding = PaddingTokens::kSegments);

}  // namespace maskctl
