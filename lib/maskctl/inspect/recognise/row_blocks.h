// Blocks of keys that each query chooses for itself, as top-k kernels do; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// A block map with blocks of one query and several keys, followed by a causal step where it cuts
/// blocks; nothing if these do not make the plane exactly, or make it of single keys.
std::optional<Chain> row_blocks_chain(const PlanePtr& plane);

}  // namespace maskctl::recognition
