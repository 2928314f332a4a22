// Words for differences; private to inspect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/index.h"

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
/// "token 4", "tokens 4 to 7"; `what` is the singular.
std::string range_words(const char* what, Range range);
/// Several ranges worded as by range_words, joined by commas; if many, the first ones and how many
/// more.
std::string ranges_words(const char* what, const std::vector<Range>& ranges);

}  // namespace maskctl
