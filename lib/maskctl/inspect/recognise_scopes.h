// Chains of single planes joined to one chain of a mask; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/inspect/recognise_steps.h"

namespace maskctl::recognising {

/// `chains[i]` is that of plane i, and plane of[b * heads + h] is the one of batch b and head h.
/// Steps that all chains begin or end with are said once. Chains that differ between batches in
/// nothing but numbers that a step takes per batch become one chain, a step that some lack being
/// one that does nothing there; all others go into heads: and batch: scopes.
Chain scoped(std::vector<Chain> chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads, const Extent& extent);

}  // namespace maskctl::recognising
