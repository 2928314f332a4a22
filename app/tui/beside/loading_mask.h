// Counts the open cells of a dense mask while it is being read, so that it can be drawn already.
#pragma once

#include <mutex>
#include <vector>

#include "maskctl/io/masks/mask_io.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// While the rows of one plane (batch and head) are read, counts the open cells in each of its
/// blocks. Thread-safe.
class LoadingMask {
 public:
  void add(const RowsRead& rows);
  /// The shape [B,H,Q,K] of the mask; empty before the first rows.
  std::vector<Index> shape() const;
  /// A grid of the plane. Its rows are unknown until all their queries have been read, and also if
  /// its blocks are smaller than those that are counted.
  InkGrid grid(const GridShape& shape) const;

 private:
  bool is_known(const InkGrid& grid, Index row) const;
  Index open_in(Range queries, Range keys) const;

  mutable std::mutex mutex_;
  std::vector<Index> shape_;
  BlockSize block_;
  Index columns_ = 0;
  std::vector<Index> open_;   // open cells in each block
  std::vector<Index> known_;  // queries read in each row of blocks
};

}  // namespace maskctl::app::tui
