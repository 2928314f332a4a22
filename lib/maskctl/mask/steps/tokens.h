// tokens: combines the mask with the cells whose query and key have the same token type.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Types are [S] or [B,S]. `zero` is the side (queries, keys, both, none) on which type 0 matches
/// nothing.
struct Tokens {
  NamedArray q = {}, kv = {};
  bool shared = true;
  enum class Join : std::uint8_t { kUnion, kIntersect, kReplace } join = Join::kUnion;
  enum class Zero : std::uint8_t { kQ, kKv, kBoth, kNone } zero = Zero::kQ;
  friend bool operator==(const Tokens&, const Tokens&) = default;
};
const RuleInfo& row(const Tokens*);

}  // namespace maskctl::step
