// Two biases with the same open cells may differ in what softmax makes of rows without an open
// cell.
#pragma once

#include <optional>
#include <string>

#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// Rows that see no key in either of two biases, of which one closes with finite numbers and the
/// other with -inf.
struct ClosingChange {
  Index rows = 0;  // over all batches and heads
  bool a_is_finite = false;
};

/// Nothing if both close alike, if one closes with both kinds of numbers, and if no row is closed
/// everywhere. `in_a` and `in_b`: the values that closed cells of the arrays of A and B. Batches
/// and heads broadcast; queries and keys must agree.
std::optional<ClosingChange> closing_change(const Mask& a, const BiasSeen& in_a, const Mask& b,
                                            const BiasSeen& in_b);

/// One line about the change.
std::string closing_words(const ClosingChange& change);

}  // namespace maskctl
