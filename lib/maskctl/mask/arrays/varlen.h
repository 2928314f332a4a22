// A packed batch in the form that variable-length kernels take: its rows laid end to end.
#pragma once

#include <cstdint>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// What happens to tokens outside documents: they form segments of their own, which see themselves;
/// or they are dropped, as when a batch is unpadded first.
enum class PaddingTokens : std::uint8_t { kSegments, kDrop };

/// The arguments of a call over the flattened batch; token t of row b has number b * S + t.
/// Sources: flash_attn_varlen_func and unpad_input of flash-attention.
struct Varlen {
  Tensor cu_q, cu_kv;  // [N+1] int32: 0 and the end of each segment, row after row
  Index max_q = 0;     // longest segment along each side
  Index max_kv = 0;
  Tensor q_indices;  // int64, kDrop only: the tokens that stay
  Tensor kv_indices;
  Index documents = 0;        // over all rows
  Index padding = 0;          // queries outside documents
  Mask mask;                  // [B,1,Q,K]: the documents, and padding as requested
  Index changed = 0;          // cells of the given mask that differ in `mask`
  Index lost = 0;             // of these, cells outside padding that no flag can restore
  bool needs_causal = false;  // the documents are exact with the kernel's causal flag
};

/// True when `mask` is what a kernel's causal flag leaves of the documents. False when the numbers
/// of queries and keys differ.
bool is_causal_part(const Mask& mask, const Mask& documents);

/// Uses the documents of each row as nearest_cu_seqlens finds them, in the union of its heads.
Varlen varlen_batch(const Mask& mask, PaddingTokens padding = PaddingTokens::kSegments);

}  // namespace maskctl
