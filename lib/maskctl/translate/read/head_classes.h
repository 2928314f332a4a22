// The heads, or batches, that an expression tells apart by comparing them with numbers; private to
// the layer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/translate/read/call.h"

namespace maskctl {

/// The first members, ascending, of all classes of `axis` ("h" or "b") but that of 0; members of
/// one class make all comparisons alike. Fails where `axis` is used in another way, and where
/// batches that are compared index arrays too.
std::vector<Index> class_starts(const LibrarySource& source, const Python& expression,
                                std::string_view axis);
/// An operator such as == or < between two operands.
bool is_comparison(const Python& given);
/// The truth of a comparison of two numbers; nothing for others.
std::optional<bool> comparison_of_numbers(const PythonText& text, const Python& given);

}  // namespace maskctl
