// Finds all sets of keys that meet the equations of a row, where least squares cannot decide
// because values repeat or are too few; private to solve.
#pragma once

#include <optional>
#include <span>

#include "maskctl/verify/solve/least_squares.h"

namespace maskctl::attention::solving {

/// Enumerates sets of the `searched` keys, and finds the cheapest one that costs at most `enough`;
/// other keys are open or closed as in the base (the first guess) of the problem. It chooses one
/// key at a time, with the equations in triangular form (Fincke, Pohst), and drops a partial set if
/// no real numbers in place of the remaining keys meet the equations. Columns are ordered as by
/// Wübben and others, so that keys of which only sums are known are next to each other. A key is
/// uncertain if it is open in some and closed in other sets that fit about as well, or if it weighs
/// too little to be decided. If there are too many sets to enumerate, all searched keys are
/// uncertain.
///
/// Returns nothing if no set fits. If all keys are searched, so that no other method has decided
/// any, it also returns nothing if there are too many sets, or so few equations that a set may fit
/// by chance. `noise`: the variance of an equation.
std::optional<LeastSquares> solve_sets(const RowProblem& problem, std::span<const Index> searched,
                                       double noise, double enough);

}  // namespace maskctl::attention::solving
