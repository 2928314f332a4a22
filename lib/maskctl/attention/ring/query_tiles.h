// A sequence of queries cut into tiles that change ranks as a whole, and the keys each sees.
#pragma once

#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// The ranges ascending, without empty ones; those that overlap or touch become one.
std::vector<Range> joined(std::vector<Range> ranges);

inline constexpr Index kDealtTile = 128;  // queries of a tile; keys are counted in tiles of as many

struct QueryTile {
  Range queries;
  /// The tiles of keys that are seen, over all batches and heads, plus one for each batch and head
  /// for reading the queries and writing their results.
  Index cost = 0;
  /// Numbers of the tiles of keys that some batch and head sees, ascending.
  std::vector<Range> keys;
};

/// Tiles of every part, from its first query on.
std::vector<QueryTile> query_tiles(const Mask& mask, const std::vector<Range>& parts);

}  // namespace maskctl::attention
