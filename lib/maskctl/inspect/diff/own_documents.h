// Documents of one mask, written as those of the other are; private to inspect.
#pragma once

#include <vector>

#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// A document of few tokens does not show the number of a longer window: gives each document of `b`
/// the number that it has in `a`, wherever `b` makes the same cells with it.
Chain with_numbers_of(const Chain& a, Chain b, const recognition::Extent& extent);

/// The chain with two neighbours of its documents merged into one, each pair in turn, and with all
/// merged; for a chain with documents that have steps inside and lengths, few of them.
std::vector<Chain> with_merged_documents(const Chain& chain);

}  // namespace maskctl
