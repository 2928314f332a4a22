// positions: keeps the keys whose position is near the query's, in whatever order the tokens are.
#pragma once

#include <optional>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where -left <= kv[k] - q[q] <= right; nullopt means unbounded. Positions are
/// integers [S] or [B,S], in any order. Only calls of attention have this step; pipelines have no
/// name for it yet.
struct Positions {
  NamedArray q = {}, kv = {};
  std::optional<Index> left = {}, right = {};
  friend bool operator==(const Positions&, const Positions&) = default;
};
const RuleInfo& row(const Positions*);

}  // namespace maskctl::step
