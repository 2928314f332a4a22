// Chains of single planes joined to one chain of a mask; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/step.h"

namespace maskctl::recognising {

/// `chains[i]` is that of plane i, and plane of[b * heads + h] is the one of batch b and head h.
/// Equal chains stay as they are; ones that differ between batches in nothing but numbers that a
/// step takes per batch become one chain; all others go into heads: and batch: scopes.
Chain scoped(const std::vector<Chain>& chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads);

}  // namespace maskctl::recognising
