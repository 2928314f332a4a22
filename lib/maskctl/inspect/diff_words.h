// How differences are put in words; private to inspect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// What would have to be changed in A to get B, without "B = A with". `changes` counts numbers and
/// steps; 1 is as simple as it gets.
struct Reason {
  std::string kind;
  std::string words;
  Index changes = 1;
};
using MaybeReason = std::optional<Reason>;

/// "5 instead of 4".
std::string instead(Index b, Index a);
/// "token 4", "tokens 4 to 7": `what` without s.
std::string range_words(const char* what, Range range);
/// Ranges of neighbours as range_words, joined by commas; of many the first and how many more.
std::string ranges_words(const char* what, const std::vector<Range>& ranges);

}  // namespace maskctl
