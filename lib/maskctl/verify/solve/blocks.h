// Rewrites native sparse attention as softmax attention over all keys, so that the blocks that a
// kernel read can be solved as a mask.
#pragma once

#include <optional>

#include "maskctl/verify/verify.h"

namespace maskctl::attention {

/// A call over listed blocks, rewritten as dense attention. Results and gradients keep their
/// shapes.
struct BlockCall {
  VerifyRequest request;  // flash_attention; `declared` [B,Hq,T,T] opens the listed keys
  Index block_size = 1;
};

/// Rewrites a call of native_sparse_attention or apply_native_sparse_attention; absent for other
/// operations. Throws what the operation throws, Error(kInvalidArgument) for gates and for a block
/// that counts twice, and Error(kLimit) if heads times tokens times keys, over all batch entries,
/// exceed 2^28.
std::optional<BlockCall> over_blocks(const VerifyRequest& request);

}  // namespace maskctl::attention
