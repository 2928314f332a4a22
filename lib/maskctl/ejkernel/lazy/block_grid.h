// How blocks and shards divide a mask.
#pragma once

#include <vector>

#include "maskctl/ejkernel/lazy/block_info.h"

namespace maskctl::lazy {

struct BlockGrid {
  Index heads = 0, rows = 0, columns = 0;  // rows and columns of blocks
  Index heads_per_shard = 0, rows_per_shard = 0;
};

/// The grid of a mask [H,Q,K]. Throws PythonError(ValueError) when blocks or shards do not divide
/// it, Error(kInvalidArgument) for sizes or numbers below 1.
BlockGrid block_grid_of(const std::vector<Index>& shape, const BlockInfoOptions& options);

/// The first of int8, int16 and int32 that holds 0 to `most`.
DType smallest_dtype(Index most);

}  // namespace maskctl::lazy
