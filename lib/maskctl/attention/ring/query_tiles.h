// Splits queries into tiles that are assigned to ranks as a whole, with the keys that each tile
// sees.
#pragma once

#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// Sorts the ranges, merges those that overlap or touch, and drops empty ones.
std::vector<Range> joined(std::vector<Range> ranges);

inline constexpr Index kDealtTile = 128;  // queries per tile, and keys per key tile

struct QueryTile {
  Range queries;
  /// Summed over all batches and heads: the number of key tiles that this tile sees, plus 1 for
  /// reading the queries and writing their results.
  Index cost = 0;
  /// The key tiles that this tile sees in any batch or head, as ascending ranges of tile numbers.
  std::vector<Range> keys;
};

/// Splits every range of `parts` into tiles, starting at its first query.
std::vector<QueryTile> query_tiles(const Mask& mask, const std::vector<Range>& parts);

}  // namespace maskctl::attention
