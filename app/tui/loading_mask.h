// What can be seen of a dense mask while it is being read.
#pragma once

#include <mutex>
#include <vector>

#include "maskctl/io/masks/mask_io.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// Counts the rows of one plane in blocks, as they come. May be used by several threads.
class LoadingMask {
 public:
  void add(const RowsRead& rows);
  /// [B,H,Q,K] of the mask; empty until there are rows.
  std::vector<Index> shape() const;
  /// A grid of blocks of the plane. Rows of it that have not come whole are unknown, as are all for
  /// blocks smaller than those that are counted.
  InkGrid grid(const GridShape& shape) const;

 private:
  bool is_known(const InkGrid& grid, Index row) const;
  Index open_in(Range queries, Range keys) const;

  mutable std::mutex mutex_;
  std::vector<Index> shape_;
  BlockSize block_;
  Index columns_ = 0;
  std::vector<Index> open_;   // of each block
  std::vector<Index> known_;  // rows of each row of blocks
};

}  // namespace maskctl::app::tui
