// Two biases with the same open cells may differ in what softmax makes of rows without an open
// cell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// With which numbers the closed cells of a bias are closed.
enum class ClosedBy : std::uint8_t { kFinite, kInfinite, kBoth };

/// Rows that see no key in either of two biases, which close with other numbers: there softmax
/// makes weights of finite ones, and NaN or 0 of -inf. With which of both a bias closes these rows
/// that has both is not known.
struct ClosingChange {
  Index rows = 0;  // over all batches and heads
  ClosedBy a = ClosedBy::kFinite, b = ClosedBy::kFinite;
};

/// Nothing if both close with finite numbers alone, or with -inf alone, and if no row is closed
/// everywhere. `in_a` and `in_b`: the values that closed cells of the arrays of A and B. Batches
/// and heads broadcast; queries and keys must agree.
std::optional<ClosingChange> closing_change(const Mask& a, const BiasSeen& in_a, const Mask& b,
                                            const BiasSeen& in_b);

/// One line about the change.
std::string closing_words(const ClosingChange& change);

}  // namespace maskctl
