// Finds all open keys of a row at once by least squares, if there are about as many equations as
// keys; private to solve.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/verify/solve/problem.h"

namespace maskctl::attention::solving {

struct LeastSquares {
  OpenKeys open;
  /// keys that the equations do not decide; in `open`, they are as in RowProblem::base(), or as in
  /// the cheapest set that solve_sets() found
  std::vector<Index> uncertain;
};

/// What the number of a key in the solution tells: the key is closed beyond doubt, it is open
/// beyond doubt, or it is undecided. kWrong: the number is precise but neither 0 nor 1, so the
/// equations do not hold.
enum class Told : std::uint8_t { kClosed, kOpen, kUnsure, kWrong };
/// Judges the number of a key in the solution. `error`: its standard error. `rest`: by how much
/// more the number may be wrong because an iteration was not finished.
Told told(double number, double error, double rest = 0);

/// Solves the equations of a row in real numbers, fixes the keys whose numbers are 0 or 1 beyond
/// doubt, and solves again for the other keys. `noise`: the variance of an equation. Absent if the
/// numbers are not 0 and 1, or if there are too few equations.
std::optional<LeastSquares> solve_all(const RowProblem& problem, double noise);

}  // namespace maskctl::attention::solving
