// The state of one head, padded for matrix products, and its way through chunks.
#pragma once

#include "maskctl/attention/core/cpu_kernel.h"
#include "maskctl/attention/core/transpose.h"
#include "maskctl/attention/linear/chunk.h"

namespace maskctl::attention {

/// [K,V] in rows of stride() floats; the padding stays 0.
class LinearState {
 public:
  explicit LinearState(const LinearDims& d)
      : keys_(d.key_dim),
        values_(d.value_dim),
        cells_(as_size(round_up(keys_, kRowGroup) * stride())) {}

  Index stride() const { return round_up(values_, kColumnGroup); }
  float* data() { return cells_.data(); }
  const float* data() const { return cells_.data(); }
  const Buffer& cells() const { return cells_; }
  void set_cells(const float* cells) { cells_.assign(cells, cells + cells_.size()); }

  /// From and to [K,V] without padding; null: 0.
  void load(const float* state);
  void store(float* state) const;

  void enter(const Chunk& chunk) { chunk.enter(data(), stride()); }
  /// From what `enter` gave to the state after the last token; packed_values are chunk.value()
  /// packed by rows.
  void leave(const Chunk& chunk, const float* packed_values, Buffer& scratch);
  /// += rows^T b, rows [count,K] and b [count,V] packed by rows. scratch holds K * kChunk or more.
  void add_product(const float* rows, Index count, const float* packed_b, Buffer& scratch);

 private:
  Index keys_, values_;
  Buffer cells_;
};

}  // namespace maskctl::attention
