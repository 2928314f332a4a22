// positions: keeps the keys whose position is near the query's, wherever tokens lie.
#pragma once

#include <optional>

#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

/// Keeps -left <= kv[k] - q[q] <= right; nullopt = unbounded. Positions are integers [S] or [B,S],
/// in any order. Pipelines have no name for it yet: calls of attention compare positions by it.
struct Positions {
  NamedArray q = {}, kv = {};
  std::optional<Index> left = {}, right = {};
  friend bool operator==(const Positions&, const Positions&) = default;
};

}  // namespace maskctl::step
