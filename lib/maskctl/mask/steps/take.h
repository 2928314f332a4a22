// take: rows and columns of the mask by index, in any order and any number of times.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// The token that each query and each key is: integers [S] or [B,S], or every stride-th token of
/// ranges. Without any, a side has all tokens as they are.
struct TokenIndices {
  NamedArray q = {}, kv = {};
  std::vector<Range> queries = {}, keys = {};  // instead of arrays
  Index stride = 1;
  friend bool operator==(const TokenIndices&, const TokenIndices&) = default;
};

/// The token of each query, or of each key, as integers [S] or [B,S]; an empty array for a side
/// that has all tokens as they are. Nothing for more than `most` of them.
std::optional<Tensor> query_tokens(const TokenIndices& indices, Index most);
std::optional<Tensor> key_tokens(const TokenIndices& indices, Index most);

/// Cell (q, k) of the result is cell (q_index[q], kv_index[k]) of the mask before: the tokens of a
/// rank (zigzag, striped), the slots of a ring, the order of pages, the keys that a cache has kept.
/// Throws Error(kInvalidArgument) for indices that the mask does not have.
struct Take : TokenIndices {
  friend bool operator==(const Take&, const Take&) = default;
};
const RuleInfo& row(const Take*);

}  // namespace maskctl::step
