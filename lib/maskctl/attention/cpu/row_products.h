// Products of a few query vectors with rows of K or V in place, unpacked, with f32 sums: what
// decoding and block-sparse attention are made of.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::attention {

/// Rows of some heads: row j of head u is the `dim` elements from data + offsets[j] +
/// u * head_stride on, where the offsets (in elements) are given separately.
struct RowArray {
  DType dtype = DType::kFloat32;  // or kFloat16, kBFloat16
  const void* data = nullptr;
  Index heads = 1, head_stride = 0;
  Index dim = 0;
  Index together = 1;  // how many rows of one head lie beside each other; a hint
};

/// Four rows of one head: number `first` and the next three; past the last row, that one again.
struct FourRows {
  std::array<const std::byte*, 4> at;
  Index first, head;
};

/// Listed rows of an array, each located once for all products with it. No other row is read.
class KeyRows {
 public:
  KeyRows() = default;
  KeyRows(const RowArray& array, std::span<const Index> offsets) { place(array, offsets); }
  /// Replaces the rows.
  void place(const RowArray& array, std::span<const Index> offsets);

  const RowArray& array() const { return array_; }
  Index count() const { return count_; }
  /// All rows of all heads, in an order that keeps rows that lie together next to each other.
  std::span<const FourRows> fours() const { return fours_; }

 private:
  RowArray array_;
  Index count_ = 0;
  std::vector<FourRows> fours_;
};

// Query number u * group + g goes with head u. Its vector is at `dim` times its number, its scores
// or weights, one for each row, at `stride` times it.
//
// `ahead`, when not null, are the rows that the next call reads, with the dtype of `rows` and no
// more of them. They are prefetched between the products in equal shares, so that neither memory
// nor arithmetic waits for the other.

/// scores = query . row; stride >= rows.count() rounded up to 4. Up to three scores past the last
/// row are written and mean nothing. The bits of a score depend on its two vectors alone.
void row_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride,
              const KeyRows* ahead = nullptr);

/// out += the sum over the rows of weight * row. Weights past the last row, up to a multiple of 4,
/// must be 0.
void row_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out,
              const KeyRows* ahead = nullptr);

/// Row j of `rows`, at j * row_stride, += the sum over g of weights[g * stride + j] * vector g.
void add_outer(const float* weights, Index stride, const float* vectors, Index group, Index dim,
               float* rows, Index row_stride, Index count);

}  // namespace maskctl::attention
