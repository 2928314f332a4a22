// Names each document on its own, where their steps have different numbers; private to inspect.
#pragma once

#include <vector>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Chains for the inside of the documents (the braces of within:), in which documents that differ
/// have numbers of their own in a list, or are named by batch:. Each document is recognised as a
/// mask, and takes the steps of one of the largest, with its own numbers, where they give it. Empty
/// if some document needs an array or is too large to be searched.
std::vector<Chain> chains_of_own(const Plane& plane, const std::vector<Hull>& documents);

}  // namespace maskctl::recognition
