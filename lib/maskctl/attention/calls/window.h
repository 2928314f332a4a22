// A sliding window, in the form that calls take it.
#pragma once

#include <optional>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// Query i sees the keys j with i - left <= j <= i + right, both ends included; nullopt: no limit
/// on that side. A single number w means (w, w), so with `causal` a query sees w + 1 keys.
struct Window {
  Window(Index both) : left(both), right(both) {}  // NOLINT: a number is a window
  Window(std::optional<Index> to_left, std::optional<Index> to_right)
      : left(to_left), right(to_right) {}
  std::optional<Index> left, right;
  friend bool operator==(const Window&, const Window&) = default;
};

}  // namespace maskctl::attention
