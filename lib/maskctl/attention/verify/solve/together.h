// Rows of the same heads by least squares, many at once, by conjugate gradients; private to solve.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/verify/solve/least_squares.h"

namespace maskctl::attention::solving {

/// What solve_all() finds, for each wanted row, by conjugate gradients: a step for all rows is a
/// few products of matrices, where each row by itself would need its matrix of all pairs of keys.
/// How sure a number is comes from the least eigenvalue that the steps have met, so that fewer keys
/// may be certain, and rows absent that solve_all() solves.
///
/// `open`: [rows, Tk], the keys that are supposed. `wanted`: [rows].
std::vector<std::optional<LeastSquares>> solve_rows(const SolveCall& call,
                                                    std::span<const Head> heads, Range rows,
                                                    const std::uint8_t* open,
                                                    const std::vector<bool>& wanted, double noise);

/// Whether these heads have an equation for each key.
bool has_equations(const SolveCall& call, std::span<const Head> heads);

}  // namespace maskctl::attention::solving
