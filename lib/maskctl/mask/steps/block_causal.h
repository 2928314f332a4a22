// block-causal: keeps the keys of blocks that begin before the query's block ends.
#pragma once

#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

/// Causal between blocks of `size` tokens, open inside them: keeps floor(k / size) * size <
/// (floor(q / size) + 1) * size - 1, both from 0. In blocks of one token a query does not see its
/// own key. Pipelines have no name for it yet: it is causal_block_size in calls of attention.
struct BlockCausal {
  Index size = 0;
  friend bool operator==(const BlockCausal&, const BlockCausal&) = default;
};

}  // namespace maskctl::step
