// kv-lengths: closes keys past the length; can also keep the last queries and keys of each batch.
#pragma once

#include <optional>

#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

/// Closes keys >= length. With q_len, also keeps only that many last queries of each batch, the
/// last one at end - 1 (end = the length unless given); with window, only that many last keys.
struct KvLengths {
  NamedArray lengths = {};  // [1] or [B]
  std::optional<Index> q_len = {}, window = {};
  NamedArray end = {};  // [1] or [B]; empty means the lengths
  friend bool operator==(const KvLengths&, const KvLengths&) = default;
};

}  // namespace maskctl::step
