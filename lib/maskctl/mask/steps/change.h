// Words for what differs between the arguments of two steps.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "maskctl/base/index.h"

namespace maskctl {

/// What has to change in step (or mask) A to get B. `words` follow "B = A with"; `changes` is how
/// many numbers and steps differ, 0 if nothing does. `kind` is "parameter", "alignment",
/// "document", "padding", "step", or one that only masks have (DiffCause::kind).
struct Reason {
  std::string kind;
  std::string words;
  Index changes = 1;

  static Reason unchanged() { return {"parameter", "", 0}; }
  /// Appends `more` to `words`, joined by "and", and counts it as one change.
  void add(const std::string& more);
  /// add()s "NAME b instead of a" unless the numbers are equal.
  void compare(std::string_view name, Index a, Index b);
};
using MaybeReason = std::optional<Reason>;

/// "5 instead of 4".
std::string instead(Index b, Index a);
/// Reasons list at most this many ranges.
inline constexpr std::size_t kMostRanges = 4;

}  // namespace maskctl
