// Finds the classes of heads (or batches) that an expression distinguishes by comparing h (or b)
// with numbers; private to the layer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/translate/read/call.h"

namespace maskctl {

/// The first member of each class of `axis` ("h" or "b"), ascending, without the class of member 0.
/// All comparisons have the same result for the members of a class. Fails if `axis` is used in
/// another way, or if b is compared and also indexes arrays.
std::vector<Index> class_starts(const LibrarySource& source, const Python& expression,
                                std::string_view axis);
/// True for an operator such as == or < with two operands.
bool is_comparison(const Python& given);
/// The result of comparing two constant numbers; nothing for other expressions.
std::optional<bool> comparison_of_numbers(const PythonText& text, const Python& given);

}  // namespace maskctl
