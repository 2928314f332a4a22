// Rows by the first key that they see: which rows see none, and which see their first key too late
// for a block-sparse kernel.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// The first open cell in the order of batch, head, query, key. Reads no more than necessary.
std::optional<Cell> first_cell(const Mask& mask);
std::optional<Cell> first_cell(const Plane& plane);  // the cell has batch 0, head 0
std::optional<Cell> first_cell(const Plane& plane, Range rows, Range keys);
/// The first open cell in these rows whose key is in one of the ranges, which ascend.
std::optional<Cell> first_cell(const Plane& plane, Range rows, std::span<const Range> keys);

/// Returns the rows that see no key, as ascending ranges that do not touch. Takes O(slabs) time if
/// the plane is stored as slabs (rows whose runs of keys begin and end on straight lines).
std::vector<Range> empty_rows(const Plane& plane);
Index count_empty_rows(const Plane& plane);

/// Rows without a key in the first block that a kernel computes for them, which is the first
/// non-empty block of their block row. In such a row, an online softmax without a guard starts with
/// a maximum of -inf and gives NaN.
struct RowSafety {
  Index empty = 0;             // rows that see no key
  Index late = 0;              // rows that see keys, but none in the first block
  std::optional<Index> first;  // the first row counted in `empty` or `late`
  std::optional<Index> first_late;
};
/// Counts the rows of a plane that are unsafe with blocks of this size. Throws
/// Error(kInvalidArgument) for a block size below 1.
RowSafety row_safety(const Plane& plane, BlockSize block);

/// Where a distinct plane of a mask is first used, and how often it is used.
struct PlaneUse {
  Index batch = 0, head = 0;
  Index times = 0;
};
/// One entry for each of mask.distinct(); `times` is 0 for a plane that no head uses.
std::vector<PlaneUse> first_uses(const Mask& mask);

}  // namespace maskctl
