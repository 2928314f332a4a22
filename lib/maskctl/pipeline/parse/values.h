// Reads numbers, ranges and lists from the values of arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/steps/field.h"

namespace maskctl {

/// True for a text that whole_number_from() reads, and for any number of digits, optionally after
/// '-'.
bool is_integer_text(std::string_view text);
/// The whole number that a text means, like whole_number_from() but also negative; nothing if its
/// absolute value is above kMaxArgument.
std::optional<Index> integer_from(std::string_view text);
/// The finite number that a decimal or scientific text means; nothing for other texts.
std::optional<double> real_from(std::string_view text);

/// "3" means [3, 4), and [0, 128) is "0-127", both ends included, as range_text() writes it, or
/// "0:128" as Python does, without its end; "4:4" is empty. Nothing for other texts, and if the
/// second number is smaller than the first.
std::optional<Range> range_from(std::string_view text);
/// "64x128" (queries x keys), or "64" for both; at least 1 each. Nothing for other texts.
std::optional<BlockSize> block_size_from(std::string_view text);

}  // namespace maskctl
