// Finds chains at positions of tokens: a rank's rows of a mask, the slots of a ring, an evicted
// cache; private to inspect.
#pragma once

#include <functional>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Chains `at:queries=...,keys=...{...}` that may give the plane, where few ranges or strides say
/// the positions of its tokens. They are read off causal rows: where a query's own key is, which
/// keys are seen first by the same query, and where the keys of the first row go round. Rows of
/// other tokens are filled in, and `recognise` names the whole. Empty if rows follow each other as
/// they are.
std::vector<Chain> chains_at_positions(const PlanePtr& plane,
                                       const std::function<Chain(const PlanePtr&)>& recognise);

}  // namespace maskctl::recognition
