// Compares the block map that a kernel follows with the mask that it should compute.
#pragma once

#include <optional>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Totals over all batch entries and heads.
struct BlockAudit {
  BlockSize size;
  Index open = 0;     // cells of the mask
  Index blocks = 0;   // blocks in the map
  Index kept = 0;     // blocks that the kernel computes
  Index dropped = 0;  // open cells in blocks that the map leaves out: lost attention
  Index dropped_blocks = 0;
  Index dropped_rows = 0;    // queries that lose at least one key
  Index first_key_rows = 0;  // queries that lose key 0, on which many models lean as a sink
  std::optional<Cell> first_dropped;
  Index wrong_full = 0;  // blocks marked 2 (full) that are not full
  Index leaked = 0;      // closed cells in blocks wrongly marked full: unwanted attention
  std::optional<Cell> first_leaked;
  Index wasted = 0;  // kept blocks without an open cell
  bool ok() const { return dropped == 0 && leaked == 0; }
};

/// Compares a mask with a block map: [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb] of bool (true: computed
/// under the mask), or of integers: 0 left out, 1 computed under the mask, 2 computed without it.
/// Uses the structure of the mask: no cell of a lazy mask is expanded. Throws Error(kShape) for a
/// map of another size, Error(kInvalidArgument) for other values.
BlockAudit audit_blocks(const Mask& mask, const Tensor& map, BlockSize size);

}  // namespace maskctl
