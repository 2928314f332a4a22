// The keys near a query, as calls say them.
#pragma once

#include <optional>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// Keys i - left <= j <= i + right of query i, both ends counted; nullopt: no limit on that side.
/// One number w is (w, w), so that with `causal` a query sees w + 1 keys.
struct Window {
  Window(Index both) : left(both), right(both) {}  // NOLINT: a number is a window
  Window(std::optional<Index> to_left, std::optional<Index> to_right)
      : left(to_left), right(to_right) {}
  std::optional<Index> left, right;
  friend bool operator==(const Window&, const Window&) = default;
};

}  // namespace maskctl::attention
