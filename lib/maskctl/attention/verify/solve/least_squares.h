// All keys of a row at once, by least squares: for rows with as many equations as keys; private to
// solve.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/attention/verify/solve/problem.h"

namespace maskctl::attention::solving {

struct LeastSquares {
  OpenKeys open;
  std::vector<Index> uncertain;  // keys that the equations do not decide; as in the base
};

/// What a number of a solution says of its key: closed or open beyond doubt, nothing yet, or that
/// the equations do not hold.
enum class Told : std::uint8_t { kClosed, kOpen, kUnsure, kWrong };
/// `error`: the standard error of the number; `rest`: how far off it may be besides.
Told told(double number, double error, double rest = 0);

/// Solves the equations in real numbers. Keys whose numbers are 0 or 1 beyond doubt, by their
/// standard errors, are fixed, and the rest is solved again. `noise` is the variance of an
/// equation. Absent where the numbers are not 0 and 1, or there are too few equations.
std::optional<LeastSquares> solve_all(const RowProblem& problem, double noise);

}  // namespace maskctl::attention::solving
