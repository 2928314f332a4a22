// window: keeps the keys near the query's position.
#pragma once

#include <optional>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where -left <= k - (q + shift + offset) <= right; nullopt means unbounded. keys=N
/// stands for left = N - 1, right = 0; both=N for left = right = N.
struct Window {
  std::optional<Index> left = {}, right = {};
  Align align = Align::kUnset;
  Index offset = 0;
  enum class Spelling : std::uint8_t { kSides, kKeys, kBoth } spelling = Spelling::kSides;
  NamedArray offsets = {};             // [B], one per batch, replaces `offset` unless empty
  NamedArray lefts = {}, rights = {};  // [B], replace `left` and `right` unless empty
  /// True if the offset or one of the sides is given for each batch.
  bool is_per_batch() const { return !offsets.empty() || !lefts.empty() || !rights.empty(); }
  friend bool operator==(const Window&, const Window&) = default;
};
const RuleInfo& row(const Window*);

}  // namespace maskctl::step
