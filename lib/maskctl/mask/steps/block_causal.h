// block-causal: keeps the keys of blocks that begin before the query's block ends.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where floor(k / size) * size < (floor(q / size) + 1) * size - 1: causal between
/// blocks of `size` tokens, open inside them. In blocks of one token a query does not see its own
/// key. Only calls of attention have this step, as causal_block_size; pipelines have no name for it
/// yet.
struct BlockCausal {
  Index size = 0;
  friend bool operator==(const BlockCausal&, const BlockCausal&) = default;
};
const RuleInfo& row(const BlockCausal*);

}  // namespace maskctl::step
