// How a mask is divided into blocks and shards.
#pragma once

#include <vector>

#include "maskctl/ejkernel/lazy/block_info.h"

namespace maskctl::lazy {

struct BlockGrid {
  Index heads = 0, rows = 0, columns = 0;  // rows, columns: of blocks
  Index heads_per_shard = 0, rows_per_shard = 0;
};

/// The grid of a mask of shape [H,Q,K]. Throws PythonError(ValueError) if block sizes or shard
/// counts do not divide it, Error(kInvalidArgument) if any of them is below 1.
BlockGrid block_grid_of(const std::vector<Index>& shape, const BlockInfoOptions& options);

/// The smallest of int8, int16 and int32 that can represent 0 to `most`.
DType smallest_dtype(Index most);

}  // namespace maskctl::lazy
