// block: keeps the blocks of cells that are nonzero in a map.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells whose block is nonzero. map: [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb].
struct Block {
  NamedArray map = {};
  Index q_size = 0;
  Index k_size = 0;
  friend bool operator==(const Block&, const Block&) = default;
};
const RuleInfo& row(const Block*);

}  // namespace maskctl::step
