// What stats and cost share: checks of block sizes, the planes to read, and how often each plane
// counts.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/inspect/count/stats.h"

namespace maskctl {

// Private to the inspect layer.

/// Throws Error(kInvalidArgument) for a block size below 1.
void check_blocks(std::span<const BlockSize> blocks);

/// The same plane in a form that is cheap to read several times: if its rows are computed when they
/// are read, a stored copy, unless that would take too much memory.
PlanePtr readable(const PlanePtr& plane);

/// How many (batch, head) pairs use each of mask.distinct().
std::vector<Index> plane_uses(const Mask& mask);

/// Calls f(i) for each of mask.distinct(), on all threads. If there are many planes, each is one
/// task; if there are few, f itself may use the threads.
void for_each_plane(const Mask& mask, const std::function<void(std::size_t i)>& f);

}  // namespace maskctl
