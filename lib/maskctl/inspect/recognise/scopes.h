// Joins the chains of single planes into one chain for the mask; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/inspect/recognise/steps.h"

namespace maskctl::recognition {

/// `chains[i]` is the chain of plane i, and plane of[b * heads + h] belongs to batch b and head h.
/// Steps that all chains begin or end with appear once. Chains that differ between batches only in
/// numbers that a step takes per batch become one chain; a step that some of them lack is given
/// numbers with which it does nothing there. All others go into heads: and batch: scopes.
Chain scoped(std::vector<Chain> chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads, const Extent& extent);

}  // namespace maskctl::recognition
