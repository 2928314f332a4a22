// All sets of keys that meet the equations of a row, where least squares cannot decide because
// values repeat or are too few; private to solve.
#pragma once

#include <optional>

#include "maskctl/attention/verify/solve/least_squares.h"

namespace maskctl::attention::solving {

/// Enumerates the sets of keys that cost at most `enough`, one key at a time, by the equations as a
/// triangle (Fincke, Pohst): a part of a set is dropped when no real numbers in place of the keys
/// not chosen yet meet the equations. Columns are in the order of Wübben and others, so that keys
/// of which only sums are known follow each other. Keys in which the cheapest sets differ are
/// uncertain, and so are keys that weigh too little to be decided.
///
/// Absent where no set fits, there are too many to go through, or too few equations for the one
/// that fits to be more than chance. `noise` is the variance of an equation.
std::optional<LeastSquares> solve_sets(const RowProblem& problem, double noise, double enough);

}  // namespace maskctl::attention::solving
