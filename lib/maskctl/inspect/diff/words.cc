#include "maskctl/inspect/diff/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace maskctl {

std::string instead(Index b, Index a) { return fmt::format("{} instead of {}", b, a); }

std::string range_words(const char* what, Range range) {
  if (range.size() == 1) return fmt::format("{} {}", what, range.begin);
  // "query" is the only name here with an irregular plural.
  const std::string name = what;
  const std::string many =
      name.ends_with('y') && name != "key" ? name.substr(0, name.size() - 1) + "ies" : name + "s";
  return fmt::format("{} {} to {}", many, range.begin, range.end - 1);
}

std::string ranges_words(const char* what, const std::vector<Range>& ranges) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMost); ++i) {
    if (i > 0) out += ", ";
    out += range_words(what, ranges[i]);
  }
  if (ranges.size() > kMost) out += fmt::format(" and {} more", ranges.size() - kMost);
  return out;
}

}  // namespace maskctl
