// Numbers, ranges and lists in argument values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/steps/field.h"

namespace maskctl {

/// What whole_number_from() reads, or an optional '-' and digits only, of any length.
bool is_integer_text(std::string_view text);
/// As whole_number_from(); nothing for values outside +-kMaxArgument.
std::optional<Index> integer_from(std::string_view text);
/// Finite numbers in decimal or scientific form.
std::optional<double> real_from(std::string_view text);

/// "3" = [3, 4), "0-3" = [0, 4): both ends included. Nothing when malformed or descending.
std::optional<Range> range_from(std::string_view text);
/// "0:128" = [0, 128), "5" = [5, 6). Nothing when malformed or descending; empty is allowed.
std::optional<Range> slice_from(std::string_view text);
/// "64x128", or "64" for both; at least 1 each.
std::optional<BlockSize> block_size_from(std::string_view text);

}  // namespace maskctl
