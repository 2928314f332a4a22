// All sets of keys that meet the equations of a row, where least squares leave them open: as of
// values that repeat, or are too few; private to solve.
#pragma once

#include <optional>

#include "maskctl/attention/verify/solve/least_squares.h"

namespace maskctl::attention::solving {

/// Enumerates sets of keys with a cost of at most `enough` by a triangle of the equations: a key at
/// a time, as long as what the keys so far leave can be met by any numbers in place of the others
/// (Fincke, Pohst; columns in the order of Wübben and others, so that keys of which only sums are
/// known follow each other). Keys in which the cheapest sets differ are uncertain, and those that
/// weigh too little to be told.
///
/// Absent where no set fits, there are too many to go through, or too few equations for the one
/// that fits to be more than chance. `noise` is the variance of an equation.
std::optional<LeastSquares> solve_sets(const RowProblem& problem, double noise, double enough);

}  // namespace maskctl::attention::solving
