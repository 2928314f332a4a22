// A packed batch as variable-length kernels take it: its rows laid end to end.
#pragma once

#include <cstdint>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// What becomes of tokens outside documents: segments of their own, which see themselves, or
/// nothing, as when a batch is unpadded first.
enum class PaddingTokens : std::uint8_t { kSegments, kDrop };

/// The arguments of a call over the flattened batch; token t of row b is number b * S + t. Sources:
/// flash_attn_varlen_func and unpad_input of flash-attention.
struct Varlen {
  Tensor cu_q, cu_kv;  // [N+1] int32: 0 and the end of each segment, row after row
  Index max_q = 0;     // longest segment along each side
  Index max_kv = 0;
  Tensor q_indices;  // int64, kDrop: the tokens that stay
  Tensor kv_indices;
  Index documents = 0;        // of all rows
  Index padding = 0;          // queries outside documents
  Mask mask;                  // [B,1,Q,K]: the documents, and padding as it was asked for
  Index changed = 0;          // cells of the given mask that differ in `mask`
  Index lost = 0;             // of these, cells beside padding that no flag brings back
  bool needs_causal = false;  // the documents are right with the kernel's causal flag
};

/// `mask` is what a kernel's causal flag leaves of the documents. False where queries and keys
/// differ in number.
bool is_causal_part(const Mask& mask, const Mask& documents);

/// Documents of each row as nearest_cu_seqlens finds them, in the union of its heads.
Varlen varlen_batch(const Mask& mask, PaddingTokens padding = PaddingTokens::kSegments);

}  // namespace maskctl
