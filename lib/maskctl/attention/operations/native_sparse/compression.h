// The compressed branch of native sparse attention: attention over the mean of each whole block.
#pragma once

#include <vector>

#include "maskctl/attention/problems/block_problem.h"
#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// The mean key and value of each whole block; the blocks of all sequences are concatenated. f32.
struct BlockMeans {
  Tensor key;                // [B,C,Hkv,D] for C blocks
  Tensor value;              // [B,C,Hkv,Dv] for C blocks
  std::vector<Index> first;  // index of the first block of each sequence
  Mask mask;                 // [1,1,T,C]: token t sees (t + 1) / block_size blocks
};

BlockMeans block_means(const BlockProblem& problem);

/// Adds the gradient of each block mean, divided by the block size, to every token of that block.
/// Shapes, both f32: `means` [B,C,Hkv,n], `sums` [B,T,Hkv,n].
void add_mean_gradient(const BlockProblem& problem, const BlockMeans& blocks, const Tensor& means,
                       Tensor& sums);

}  // namespace maskctl::attention
