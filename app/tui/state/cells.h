// The selection, and the steps that open or close its cells.
#pragma once

#include "app/tui/state/state.h"

namespace maskctl::app::tui {

/// The cells that keys of cells act on: a rectangle.
struct Selection {
  Range queries, keys;
};
/// The cells between the one where the selection began and the cursor; without a selection, the
/// cell under the cursor.
Selection selection_of(const State& state);

/// Begins or ends a selection; or adds a step to the pipeline that opens the cells, or closes them
/// if all are open. The step is about this batch and head only.
void take_cell_key(State& state, CellKey key);

}  // namespace maskctl::app::tui
