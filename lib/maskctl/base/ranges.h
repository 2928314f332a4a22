// Lists of ranges, and ranges as text, in which both ends are included: "0-3".
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Appends a range that begins at or after the end of the last one; if it begins exactly there, the
/// last one is extended instead.
void append_range(std::vector<Range>& ranges, Range next);
/// The ranges that ascending numbers form: 0, 1, 2, 7 gives [0, 3) and [7, 8).
std::vector<Range> ranges_of(std::span<const Index> numbers);

/// [3, 4) gives "3" and [0, 4) gives "0-3"; an empty range, which has no last number, "4:4".
std::string range_text(Range range);
/// The ranges in the notation of options: "0-3+7".
std::string ranges_text(std::span<const Range> ranges);

/// The ranges in words: "query 3", "queries 0-3, 7". `many` is the plural; it may be left out where
/// that is `one` with an s. After `most` ranges the text ends in "and 2 more".
std::string range_words(std::span<const Range> ranges, std::string_view one,
                        std::string_view many = {},
                        std::size_t most = std::numeric_limits<std::size_t>::max());
std::string range_words(Range range, std::string_view one, std::string_view many = {});

}  // namespace maskctl
