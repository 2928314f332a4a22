// Finds documents with any numbers of queries and keys and the same steps inside each, as kernels
// with cu_seqlens_q and cu_seqlens_k compute them; private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl::recognition {

/// Chains `within:q-lens=...,kv-lens=...{...}` that may give the plane except for a few odd cells.
/// Empty if its rows do not form several documents. Queries that see nothing and keys that nobody
/// sees belong to the document after them if cells are counted from the last query and key of a
/// document, and to the one before if they are counted from the first ones.
std::vector<Chain> ragged_chains(const PlanePtr& plane);

/// Returns causal and window steps that the plane may have inside the documents of `rule`.
std::vector<Chain> bands_inside(const Plane& plane, const step::Within& rule);

}  // namespace maskctl::recognition
