// Rows by the first key they see: which rows see none, and which see their first key too late for a
// block-sparse kernel.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// The open cell with the lowest batch, head, query and key. Reads no more than necessary.
std::optional<Cell> first_cell(const Mask& mask);
std::optional<Cell> first_cell(const Plane& plane);  // batch and head 0
std::optional<Cell> first_cell(const Plane& plane, Range rows, Range keys);
/// The first open cell in these rows, for keys in any of the ranges, which ascend.
std::optional<Cell> first_cell(const Plane& plane, Range rows, std::span<const Range> keys);

/// Rows that see no key: ascending, not touching. O(slabs) for bands.
std::vector<Range> empty_rows(const Plane& plane);
Index count_empty_rows(const Plane& plane);

/// Rows without a key in the first block that a kernel computes for them, which is the first
/// non-empty block of their block row. An online softmax that does not guard against this starts
/// with a maximum of -inf and gives NaN.
struct RowSafety {
  Index empty = 0;             // rows without any key
  Index late = 0;              // rows whose first key is in a later block
  std::optional<Index> first;  // the first of the late rows
  std::optional<Index> first_late;
};
/// Throws Error(kInvalidArgument) for a block size below 1.
RowSafety row_safety(const Plane& plane, BlockSize block);

/// Where a distinct plane of a mask first occurs, and how often.
struct PlaneUse {
  Index batch = 0, head = 0;
  Index times = 0;
};
/// One entry for each of mask.distinct(); `times` is 0 for a plane that is not used.
std::vector<PlaneUse> first_uses(const Mask& mask);

}  // namespace maskctl
