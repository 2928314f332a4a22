// Looks for the open keys of a row: runs whose ends have moved, whole tiles, and a few odd keys;
// private to solve.
#pragma once

#include "maskctl/attention/verify/solve/problem.h"

namespace maskctl::attention::solving {

using State = RowProblem::State;

/// Ends of runs are moved, and runs opened or closed as a whole, as long as that lowers the cost.
State move_ends(const RowProblem& problem, State state, double enough);
/// The cheapest single run of keys; the state itself where that would take too long.
State one_run(const RowProblem& problem, State state);
/// Tiles of keys are opened or closed.
State change_tiles(const RowProblem& problem, State state, double enough);

/// Flips up to `most` keys, one after another; of the supports of each size the `width` cheapest
/// are kept, so that the right one need not be the cheapest before it is whole. Ends where a cost
/// is at most `enough`.
State flip_keys(const RowProblem& problem, const State& start, Index width, Index most,
                double enough);

}  // namespace maskctl::attention::solving
