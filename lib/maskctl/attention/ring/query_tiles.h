// A sequence of queries cut into tiles that change ranks as a whole, and what each sees.
#pragma once

#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// Ascending, those that overlap or touch as one, without empty ones.
std::vector<Range> joined(std::vector<Range> ranges);

inline constexpr Index kDealtTile = 128;  // queries, and keys that are counted together

struct QueryTile {
  Range queries;
  /// Tiles of keys that are seen, over all batches and heads, and for each of these one more for
  /// reading the queries and writing their results.
  Index cost = 0;
  /// Numbers of the tiles of keys that some batch and head sees, ascending.
  std::vector<Range> keys;
};

/// Tiles of every part, from its first query on.
std::vector<QueryTile> query_tiles(const Mask& mask, const std::vector<Range>& parts);

}  // namespace maskctl::attention
