// kv-lengths: closes keys past a length; can also cut the mask to the last queries and keys.
#pragma once

#include <optional>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Closes keys >= length. q_len also cuts the mask to q_len queries of each batch, which end before
/// `end` (by default the length); `window` also cuts it to the `window` last keys before the
/// length.
struct KvLengths {
  NamedArray lengths = {};  // [1] or [B]
  std::optional<Index> q_len = {}, window = {};
  NamedArray end = {};  // [1] or [B]; empty: the same as lengths
  friend bool operator==(const KvLengths&, const KvLengths&) = default;
};
const RuleInfo& row(const KvLengths*);

}  // namespace maskctl::step
