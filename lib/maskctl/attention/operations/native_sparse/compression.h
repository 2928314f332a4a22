// The compressed branch: attention over the means of whole blocks.
#pragma once

#include <vector>

#include "maskctl/attention/problems/block_problem.h"
#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// Means of the whole blocks of all sequences, back to back, f32.
struct BlockMeans {
  Tensor key;                // [B,C,Hkv,D]
  Tensor value;              // [B,C,Hkv,Dv]
  std::vector<Index> first;  // the first block of each sequence
  Mask mask;                 // [1,1,T,C]: token t of a sequence sees its first (t + 1) / block_size
};

BlockMeans block_means(const BlockProblem& problem);

/// Adds each mean's gradient, divided by the block size, to all tokens of its block. `means` and
/// `sums` are f32, [B,C,Hkv,n] and [B,T,Hkv,n].
void add_mean_gradient(const BlockProblem& problem, const BlockMeans& blocks, const Tensor& means,
                       Tensor& sums);

}  // namespace maskctl::attention
