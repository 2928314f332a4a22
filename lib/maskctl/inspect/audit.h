// A map of blocks that a kernel goes by, against the mask that it should compute.
#pragma once

#include <optional>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Over all batches and heads.
struct BlockAudit {
  BlockSize size;
  Index open = 0;     // cells of the mask
  Index blocks = 0;   // of the map
  Index kept = 0;     // blocks that the kernel computes
  Index dropped = 0;  // open cells in blocks that the map leaves out: attention that is lost
  Index dropped_blocks = 0;
  Index dropped_rows = 0;  // queries that lose a key
  std::optional<Cell> first_dropped;
  Index wrong_full = 0;  // blocks marked full (2) that are not
  Index leaked = 0;      // closed cells in them: attention that is gained
  std::optional<Cell> first_leaked;
  Index wasted = 0;  // kept blocks without an open cell
  bool ok() const { return dropped == 0 && leaked == 0; }
};

/// map: [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb] of bool (true: computed under the mask) or 0 left out,
/// 1 computed under the mask, 2 computed without it. Works by structure: no cell of a lazy mask is
/// expanded. Throws Error(kShape) for a map of another size, Error(kInvalidArgument) for other
/// values.
BlockAudit audit_blocks(const Mask& mask, const Tensor& map, BlockSize size);

}  // namespace maskctl
