// Numbers, ranges and lists in argument values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The largest integer that an argument may have, as extents are at most this (plane.h).
inline constexpr Index kMaxArgument = (Index{1} << 31) - 1;

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

/// The shortest text that reads back as the same number.
std::string real_text(double value);
std::string list_text(const std::vector<Index>& values);
std::string ranges_text(const std::vector<Range>& ranges);
std::string slice_text(Range range);
/// True for digits and '+' only: a list of lengths rather than a file.
bool is_list_text(std::string_view text);

/// int64 [n].
Tensor tensor_of(const std::vector<Index>& values);

}  // namespace maskctl
