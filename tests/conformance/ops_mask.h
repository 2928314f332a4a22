// The trees of lazy masks in cases of blocksparse_attention.
#pragma once

#include <functional>
#include <string>

#include "conformance/value.h"
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/tensor/tensor.h"

namespace conformance {

/// The mask [queries, keys], or [H, queries, keys], of a tree of `full`, `causal`, `local`,
/// `chunked_causal`, `and`, `or`, `dense`, `block` and `multi_head`; `input` gives the arrays that
/// it names. Throws Mismatch for another type.
maskctl::lazy::MaskPtr mask_of_tree(
    const Value& tree, maskctl::Index queries, maskctl::Index keys,
    const std::function<maskctl::Tensor(const std::string& name)>& input);

}  // namespace conformance
