// The row of one query of a step, as tokens: what its library opens, slots translated.
#pragma once

#include <vector>

#include "maskctl/phases/cache.h"
#include "maskctl/phases/mask_rows.h"

namespace maskctl {

/// The open tokens of a row, and its first open slot that holds no token (-1: none).
struct StepRow {
  std::vector<Run> tokens;
  Index empty_slot = -1;
};

/// Sets `row` to that of query i of a step. `declared` has a row for each position that the step
/// has queries at.
void read_step_row(const Cache& cache, const MaskRows& declared, const PhaseStep& step,
                   const SlotView& view, Index i, StepRow& row);

/// The slot that holds a token; -1 if none does.
Index slot_of(const SlotView& view, Index token);

}  // namespace maskctl
