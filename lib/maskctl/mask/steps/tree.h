// tree: keeps a token's ancestors and itself, in trees of rollouts that share prompts and in drafts
// of speculative decoding.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where key k is the token of the query or an ancestor of it. The query's token is
/// q + shift, with shift K - Q for align=bottom-right, so that a draft may follow its context. One
/// of four descriptions is given:
///   lens, after  stretches of tokens, each of which continues the end of an earlier stretch, or
///                begins a tree where `after` is its own number. Tokens past the last stretch see
///                nothing and are not seen.
///   parents      [K] or [B,K]: the parent of each token; -1, or the token itself, makes a root.
///   depth        [K] or [B,K], tokens in preorder: the parent is the nearest token before with
///                less depth.
///   tin, tout    [K] or [B,K]: a numbering in which k and its descendants are the tokens with
///                tin[k] <= tin < tout[k] (an Euler tour).
/// Throws Error(kInvalidArgument) for stretches that are empty, reach past the end or continue a
/// later one, for parents outside the tokens or in a circle, for depths below 0, and for intervals
/// that are empty, begin together, or are neither nested nor apart.
struct Tree {
  std::vector<Index> lens = {}, after = {};
  NamedArray parents = {}, depth = {}, tin = {}, tout = {};
  Align align = Align::kUnset;
  friend bool operator==(const Tree&, const Tree&) = default;
};
const RuleInfo& row(const Tree*);

}  // namespace maskctl::step
