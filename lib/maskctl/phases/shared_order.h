// How even ranks are under several masks of one model, whose layers share one order of tokens.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/inspect/count/cost.h"

namespace maskctl {

/// The pairs that ranks have of one mask, and how many layers apply it.
struct MaskOfLayers {
  std::vector<Balance> balance;  // of mask_cost(), one per Split
  Index layers = 1;
};

/// One way to deal the tokens. Ranks wait for each other in every layer, so that a layer takes as
/// long as its busiest rank.
struct SharedOrder {
  Split split = Split::kContiguous;
  std::vector<std::optional<double>> each;  // most / mean of each mask; absent without pairs
  std::optional<double> all;                // the sum over layers of most over that of mean
};

/// Every way of the masks, the one in which layers take least first; of equal ones, in the order of
/// Split. Throws Error(kInvalidArgument) for masks of other numbers of ranks.
std::vector<SharedOrder> shared_orders(std::span<const MaskOfLayers> masks);

}  // namespace maskctl
