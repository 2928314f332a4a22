// Tiles of one plane counted by what they hold, at several sizes in one pass over the rows.
#pragma once

#include <span>
#include <vector>

#include "maskctl/inspect/stats.h"

namespace maskctl {

// Private to the inspect layer.

/// One parallel pass over the tile rows for sizes that divide one another: tiles of the smallest
/// are told by the plane, larger ones are made of those. In the order of `sizes`.
std::vector<BlockStats> block_table(const Plane& plane, std::span<const BlockSize> sizes);

/// total += part * times; sizes agree.
void add_block(BlockStats& total, const BlockStats& part, Index times);

}  // namespace maskctl
