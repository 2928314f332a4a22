// Shared by stats and cost: checking block sizes, the planes to read, and how often each counts.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/inspect/count/stats.h"

namespace maskctl {

// Private to the inspect layer.

/// Throws Error(kInvalidArgument) for a block size below 1.
void check_blocks(std::span<const BlockSize> blocks);

/// A plane that will be read several times: a computed one is stored if it fits.
PlanePtr readable(const PlanePtr& plane);

/// How many (batch, head) pairs each of mask.distinct() stands for.
std::vector<Index> plane_uses(const Mask& mask);

/// Calls f(i) for each of mask.distinct(), on all threads: with many planes each is one task; with
/// few, f itself may use the threads.
void for_each_plane(const Mask& mask, const std::function<void(std::size_t i)>& f);

}  // namespace maskctl
