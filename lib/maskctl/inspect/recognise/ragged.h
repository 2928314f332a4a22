// Documents of as many queries and keys as they like, each with the same steps inside: what kernels
// with cu_seqlens_q and cu_seqlens_k compute; private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl::recognition {

/// Chains `within:q-lens=...,kv-lens=...{...}` that may give the plane, but for a few odd cells.
/// Empty where its rows do not fall into several documents. Keys that nobody sees, and queries that
/// see nothing, belong to the document after them where its cells are counted from its last ones,
/// and to the one before where they are counted from its first ones.
std::vector<Chain> ragged_chains(const PlanePtr& plane);

/// Windows and causal rules that the plane may have inside the documents of the rule.
std::vector<Chain> bands_inside(const Plane& plane, const step::Within& rule);

}  // namespace maskctl::recognition
