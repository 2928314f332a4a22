// Chooses key blocks by their weights in compressed attention; used by all backends.
#pragma once

#include <vector>

#include "maskctl/attention/problems/block_problem.h"

namespace maskctl::attention {

/// The blocks that a token may choose for one key head: `seen` whole blocks, beginning with block
/// `first` of [B,C], and the token's own block `own`.
struct BlockChoices {
  Index query_row;  // first query head of the token, an index in [B,T,Hq]
  Index u;          // key head
  Index first, seen, own;
};

/// Computes the importance of blocks; each backend implements it.
class Ranking {
 public:
  virtual ~Ranking() = default;
  virtual void add_weights(const BlockChoices& from, std::vector<double>& importance) = 0;
};

/// Chooses the blocks of every token of a task and writes them to `selected`, [B,T,Hkv,count]
/// int32.
void select_blocks(const SelectionProblem& problem, const TokenTask& task, Ranking& ranking,
                   const MutableTensorView& selected);

}  // namespace maskctl::attention
