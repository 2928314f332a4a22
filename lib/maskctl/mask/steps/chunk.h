// chunk: keeps the keys in the query's chunk; not causal by itself.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where floor((q + shift + offset - origin) / size) == floor((k - origin) / size).
/// Without align, shift is 0 even if Q != K.
struct Chunk {
  Index size = 0;  // at least 1
  Index offset = 0;
  Align align = Align::kUnset;
  NamedArray origins = {};              // a key at which a chunk starts: [1] or [B]; empty: 0
  NamedArray sizes = {}, offsets = {};  // [B], replace `size` and `offset` unless empty
  /// True if the origin, the size or the offset is given as an array, which may have one entry per
  /// batch.
  bool is_per_batch() const { return !origins.empty() || !sizes.empty() || !offsets.empty(); }
  friend bool operator==(const Chunk&, const Chunk&) = default;
};
const RuleInfo& row(const Chunk*);

}  // namespace maskctl::step
