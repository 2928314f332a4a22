// Words for differences; private to inspect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/base/ranges.h"

namespace maskctl {

/// What has to change in A to get B, without "B = A with". `changes` counts numbers and steps; 1 is
/// the simplest.
struct Reason {
  std::string kind;
  std::string words;
  Index changes = 1;
};
using MaybeReason = std::optional<Reason>;

/// "5 instead of 4".
std::string instead(Index b, Index a);
/// The most ranges that a reason lists.
inline constexpr std::size_t kMostRanges = 4;

}  // namespace maskctl
