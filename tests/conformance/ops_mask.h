// Builds the lazy masks that cases of blocksparse_attention describe as trees.
#pragma once

#include <functional>
#include <string>

#include "conformance/value.h"
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/tensor/tensor.h"

namespace conformance {

/// Builds a mask [queries, keys], or [H, queries, keys], from a tree of `full`, `causal`, `local`,
/// `chunked_causal`, `and`, `or`, `dense`, `block` and `multi_head`; `input` returns the arrays
/// that the tree names. Throws Mismatch for another node.
maskctl::lazy::MaskPtr mask_of_tree(
    const Value& tree, maskctl::Index queries, maskctl::Index keys,
    const std::function<maskctl::Tensor(const std::string& name)>& input);

}  // namespace conformance
