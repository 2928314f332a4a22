// Exact figures of a mask: open cells, keys per row, empty columns, tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// Tiles of one size, counted by what they contain. Tiles at the edge are cut to the mask, and are
/// full if all of their cells are open. `executed`: the number of cells in non-empty tiles, which a
/// block-sparse kernel computes; waste = executed / open cells.
struct BlockStats {
  BlockSize size;
  Index empty = 0;
  Index partial = 0;
  Index full = 0;
  Index executed = 0;
};

struct PlaneStats {
  Index open = 0;          // open cells
  Index rows = 0;          // rows (queries) counted
  Index empty_rows = 0;    // rows that see no key
  Index full_rows = 0;     // rows that see every key; 0 when there are no keys
  Index min_keys = 0;      // fewest keys of any row
  double median_keys = 0;  // mean of the two middle rows if `rows` is even
  Index max_keys = 0;
  std::optional<Index> empty_columns;  // keys that no query sees; absent beyond 2^22 keys
  std::vector<BlockStats> blocks;      // in the requested order
};

struct Stats {
  PlaneStats total;                // over all batches and heads
  std::vector<PlaneStats> planes;  // one for each of mask.distinct()
};

/// Computes the figures from the structure of the mask, on all threads; equal planes are counted
/// once. Throws Error(kInvalidArgument) for a block size below 1.
Stats mask_stats(const Mask& mask, std::span<const BlockSize> blocks);

}  // namespace maskctl
