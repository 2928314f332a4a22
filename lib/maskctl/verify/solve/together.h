// Solves rows of the same heads by least squares, many at once, by conjugate gradients; private to
// solve.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/verify/solve/least_squares.h"

namespace maskctl::attention::solving {

/// Finds for each wanted row what solve_all() finds, but by conjugate gradients. A step for all
/// rows is a few matrix products, whereas solve_all() makes a matrix of all pairs of keys for each
/// row. The certainty of a number is estimated from the least eigenvalue that the steps have met.
/// Hence fewer keys may be certain than with solve_all(), and some rows may have no result although
/// solve_all() would solve them.
///
/// `open`: [rows, Tk], the supposed keys. `wanted`: [rows].
std::vector<std::optional<LeastSquares>> solve_rows(const SolveCall& call,
                                                    std::span<const Head> heads, Range rows,
                                                    const std::uint8_t* open,
                                                    const std::vector<bool>& wanted, double noise);

/// Whether these heads have enough equations to solve for all keys; one fewer than keys is enough.
bool has_equations(const SolveCall& call, std::span<const Head> heads);

}  // namespace maskctl::attention::solving
