// Searches for the open keys of a row: moves the ends of runs, changes whole tiles, and flips a few
// single keys; private to solve.
#pragma once

#include "maskctl/verify/solve/problem.h"

namespace maskctl::attention::solving {

using State = RowProblem::State;

/// Moves the ends of runs of open keys, and opens or closes whole runs, as long as that lowers the
/// cost. Stops once the cost is at most `enough`.
State move_ends(const RowProblem& problem, State state, double enough);
/// Moves each end of a run of open keys to the nearest edge of a tile, if that raises the cost by
/// less than `less`. Ends that are also in the problem's base (its first guess) stay where they
/// are. So keys that weigh too little to be decided become like the rest of their tile.
State align_ends(const RowProblem& problem, State state, double less);
/// The cheapest state whose open keys are a single run; `state` itself if it is cheaper, or if the
/// search would take too long.
State one_run(const RowProblem& problem, State state);
/// Opens or closes whole tiles of keys, as long as that lowers the cost. Stops once the cost is at
/// most `enough`.
State change_tiles(const RowProblem& problem, State state, double enough);

/// Flips up to `most` keys, one after another. Of the sets of flips of each size, the `width`
/// cheapest are kept, so that the right set need not be the cheapest before it is complete. Stops
/// when a cost is at most `enough`.
State flip_keys(const RowProblem& problem, const State& start, Index width, Index most,
                double enough);

}  // namespace maskctl::attention::solving
