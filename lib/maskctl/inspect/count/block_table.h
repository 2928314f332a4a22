// Counts the tiles of one plane by what they contain, at several sizes in one pass over the rows.
#pragma once

#include <span>
#include <vector>

#include "maskctl/inspect/count/stats.h"

namespace maskctl {

// Private to the inspect layer.

/// Makes one parallel pass over the tile rows. Among sizes that divide one another, the plane
/// classifies only the smallest tiles, and larger tiles are merged from them. Results are in the
/// order of `sizes`.
std::vector<BlockStats> block_table(const Plane& plane, std::span<const BlockSize> sizes);

/// total += times * part, for the same block size.
void add_block(BlockStats& total, const BlockStats& part, Index times);

}  // namespace maskctl
