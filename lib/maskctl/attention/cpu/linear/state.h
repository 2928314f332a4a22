// The state of one head, padded for matrix products.
#pragma once

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/linear/chunk.h"

namespace maskctl::attention {

/// [K,V] in rows of stride() floats; the padding of a row stays 0.
class LinearState {
 public:
  explicit LinearState(const LinearDims& d)
      : keys_(d.key_dim),
        values_(d.value_dim),
        cells_(as_size(round_up(keys_, kRowGroup) * stride())),
        all_(as_size(ceil_div(keys_, kRowGroup))) {}

  Index stride() const { return round_up(values_, kColumnGroup); }
  float* data() { return cells_.data(); }
  const float* data() const { return cells_.data(); }
  const Buffer& cells() const { return cells_; }
  /// From and to [K,V] without padding; null: 0.
  void load(const float* state);
  void store(float* state) const;

  /// From what the chunk enters with to the state after its last token. packed holds
  /// chunk.count() * stride() floats.
  void leave(Chunk& chunk, float* packed, PrefetchQueue* prefetches = nullptr);
  /// += rows^T b, rows [count,K], readable up to kRowGroup floats past their end, and b [count,V]
  /// packed by rows.
  void add_product(const float* rows, Index count, const float* packed_b,
                   PrefetchQueue* prefetches = nullptr);

 private:
  Index keys_, values_;
  Buffer cells_;            // rows past K are undefined
  std::vector<Range> all_;  // of a product, for each group of rows
};

/// sums [count, stride] = what the tokens of a chunk, times their R, read of the state [K, stride]
/// it enters with. packed holds K * stride floats.
void read_state(const Chunk& chunk, const float* state, Index stride, float* packed, float* sums);

}  // namespace maskctl::attention
