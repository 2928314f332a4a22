// Joins the chains of single planes into one chain for the mask; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/inspect/recognise/steps.h"

namespace maskctl::recognition {

/// `chains[i]` describes plane i, and of[b * heads + h] is the plane of batch b and head h. Steps
/// with which all chains begin or end appear once. If chains differ between batches only in numbers
/// that a step can take per batch, they become one chain; a step that some of them lack gets
/// numbers that change nothing there. All other differences become heads: and batch: steps.
Chain scoped(std::vector<Chain> chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads, const Extent& extent);

}  // namespace maskctl::recognition
