// heads and batch: apply a chain to some heads or batches only and leave the rest.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"

namespace maskctl {

struct Step;
using Chain = std::vector<Step>;

namespace step {

/// The chain must keep Q and K.
struct Scoped {
  enum class Axis : std::uint8_t { kHeads, kBatch } axis = Axis::kHeads;
  std::vector<Range> members = {};
  Chain chain;
  friend bool operator==(const Scoped& a, const Scoped& b);
  static const RuleInfo& row();
};

}  // namespace step
}  // namespace maskctl
