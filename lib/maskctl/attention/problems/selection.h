// The choice of blocks by their weights in the compressed branch: what all backends share.
#pragma once

#include <vector>

#include "maskctl/attention/problems/block_problem.h"

namespace maskctl::attention {

/// The blocks that a token and key head may choose: `seen` whole ones, those from `first` in [B,C]
/// on, and the own of the token.
struct BlockChoices {
  Index query_row;  // index in [B,T,Hq] of the first query head
  Index u;          // the key head
  Index first, seen, own;
};

/// Adds to importance[c] the softmax weights of the whole blocks, summed over the query heads.
class Ranking {
 public:
  virtual ~Ranking() = default;
  virtual void add_weights(const BlockChoices& from, std::vector<double>& importance) = 0;
};

/// Chooses the blocks of every token of a task. selected [B,T,Hkv,count] int32.
void select_blocks(const SelectionProblem& problem, const TokenTask& task, Ranking& ranking,
                   const MutableTensorView& selected);

}  // namespace maskctl::attention
