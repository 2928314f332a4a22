#include "maskctl/base/ranges.h"

#include <fmt/format.h>

#include <algorithm>

namespace maskctl {
namespace {

std::string joined_ranges(std::span<const Range> ranges, std::string_view mark) {
  std::string out;
  for (const Range& range : ranges) {
    if (!out.empty()) out += mark;
    out += range_text(range);
  }
  return out;
}

}  // namespace

void append_range(std::vector<Range>& ranges, Range next) {
  if (!ranges.empty() && ranges.back().end == next.begin) {
    ranges.back().end = next.end;
  } else {
    ranges.push_back(next);
  }
}

std::vector<Range> ranges_of(std::span<const Index> numbers) {
  std::vector<Range> out;
  for (const Index number : numbers) append_range(out, {number, number + 1});
  return out;
}

std::string range_text(Range range) {
  if (range.empty()) return fmt::format("{}:{}", range.begin, range.end);
  return range.size() == 1 ? fmt::format("{}", range.begin)
                           : fmt::format("{}-{}", range.begin, range.end - 1);
}

std::string ranges_text(std::span<const Range> ranges) { return joined_ranges(ranges, "+"); }

std::string range_words(std::span<const Range> ranges, std::string_view one, std::string_view many,
                        std::size_t most) {
  const bool is_one = ranges.size() == 1 && ranges.front().size() == 1;
  const std::string noun =
      is_one || !many.empty() ? std::string(is_one ? one : many) : std::string(one) + "s";
  const std::size_t said = std::min(ranges.size(), most);
  std::string out = noun + " " + joined_ranges(ranges.first(said), ", ");
  if (said < ranges.size()) out += fmt::format(" and {} more", ranges.size() - said);
  return out;
}

std::string range_words(Range range, std::string_view one, std::string_view many) {
  return range_words(std::span(&range, 1), one, many);
}

}  // namespace maskctl
