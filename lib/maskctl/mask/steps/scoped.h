// heads and batch: apply a chain to some heads or batches only and leave the rest.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Applies a chain to the heads or batches in `members` only. The chain must keep the shape of the
/// mask.
struct Scoped {
  enum class Axis : std::uint8_t { kHeads, kBatch } axis = Axis::kHeads;
  std::vector<Range> members = {};
  Chain chain;
  friend bool operator==(const Scoped& a, const Scoped& b);
};
const RuleInfo& row(const Scoped*);

/// The heads or batches of the step, of `extent`, in the given order and each once. Throws
/// Error(kInvalidArgument) for others.
std::vector<Index> members_of(const Scoped& rule, Index extent);

}  // namespace maskctl::step
