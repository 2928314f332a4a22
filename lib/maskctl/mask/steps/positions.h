// positions: keeps the keys whose position is near the query's, wherever tokens lie.
#pragma once

#include <optional>

#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

/// Keeps -left <= kv[k] - q[q] <= right; nullopt = unbounded. Positions are integers [S] or [B,S],
/// in any order. No pipeline names it yet: it is how calls of attention compare positions.
struct Positions {
  NamedArray q = {}, kv = {};
  std::optional<Index> left = {}, right = {};
  friend bool operator==(const Positions&, const Positions&) = default;
};

}  // namespace maskctl::step
