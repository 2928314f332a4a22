// Native sparse attention as softmax attention over all keys, so that the blocks that a kernel read
// are solved as a mask.
#pragma once

#include <optional>

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

/// A call over listed blocks, rewritten; results and gradients have the same shapes.
struct BlockCall {
  VerifyRequest request;  // flash_attention; `declared` [B,Hq,T,T] are the keys that are listed
  Index block_size = 1;
};

/// Absent for operations other than native_sparse_attention and apply_native_sparse_attention.
/// Throws what the operation throws, Error(kInvalidArgument) for gates and for a block that counts
/// twice, and Error(kLimit) for more than 2^28 heads times tokens times keys.
std::optional<BlockCall> over_blocks(const VerifyRequest& request);

}  // namespace maskctl::attention
