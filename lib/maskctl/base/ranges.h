// Numbers as ranges, and ranges as text: both ends included, as options are written.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Adds a range behind all others, joined to the last one where they touch.
void append_range(std::vector<Range>& ranges, Range next);
/// The ranges that ascending numbers fill.
std::vector<Range> ranges_of(std::span<const Index> numbers);

/// "3", "0-3".
std::string range_text(Range range);
/// "0-3+7", as in an option.
std::string ranges_text(std::span<const Range> ranges);

/// In a sentence: "query 3", "queries 0-3, 7". `many` is needed where the plural is not `one` and
/// an s. Lists at most `most` ranges, then "and 2 more".
std::string range_words(std::span<const Range> ranges, std::string_view one,
                        std::string_view many = {},
                        std::size_t most = std::numeric_limits<std::size_t>::max());
std::string range_words(Range range, std::string_view one, std::string_view many = {});

}  // namespace maskctl
