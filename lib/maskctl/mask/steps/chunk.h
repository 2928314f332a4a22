// chunk: keeps the keys in the query's chunk; not causal by itself.
#pragma once

#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

/// Keeps floor((q + shift + offset - origin) / size) == floor((k - origin) / size). Without align,
/// rows count from the first (shift 0), even when Q != K.
struct Chunk {
  Index size = 0;  // at least 1
  Index offset = 0;
  Align align = Align::kUnset;
  NamedArray origins = {};  // the key where a chunk starts: [1] or one per batch; empty: 0
  NamedArray sizes = {}, offsets = {};  // [B], replace `size` and `offset` unless empty
  /// Whether a number is given for each batch.
  bool is_per_batch() const { return !origins.empty() || !sizes.empty() || !offsets.empty(); }
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

}  // namespace maskctl::step
