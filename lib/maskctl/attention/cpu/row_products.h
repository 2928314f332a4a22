// Products of a few query vectors with rows of K or V, which are read in place, without packing,
// and summed in f32. Used by decoding and by block-sparse attention.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::attention {

/// Describes rows of several heads: row j of head u is the `dim` elements starting at data +
/// offsets[j] + u * head_stride. The offsets (in elements) are passed separately.
struct RowArray {
  DType dtype = DType::kFloat32;  // or kFloat16, kBFloat16
  const void* data = nullptr;
  Index heads = 1, head_stride = 0;
  Index dim = 0;
  Index together = 1;  // a hint: how many rows of one head are adjacent in memory
};

/// Four rows of one head: `first` and the next three. Past the last row, the last row is repeated.
struct FourRows {
  std::array<const std::byte*, 4> at;
  Index first, head;
};

/// A list of rows of an array, whose addresses are computed once for all products. No other row is
/// read.
class KeyRows {
 public:
  KeyRows() = default;
  KeyRows(const RowArray& array, std::span<const Index> offsets) { place(array, offsets); }
  /// Replaces the list of rows.
  void place(const RowArray& array, std::span<const Index> offsets);

  const RowArray& array() const { return array_; }
  Index count() const { return count_; }
  /// All rows of all heads, in groups of four, ordered so that adjacent rows follow each other.
  std::span<const FourRows> fours() const { return fours_; }

 private:
  RowArray array_;
  Index count_ = 0;
  std::vector<FourRows> fours_;
};

// Query u * group + g reads head u. The vector of query n starts at n * dim; its scores or weights,
// one per row, start at n * stride.
// `ahead`, if not null, are the rows that the next call will read; they must have the dtype of
// `rows`, and there must not be more of them than of `rows`. They are prefetched evenly between the
// products, so that memory and arithmetic overlap.

/// scores = query . row. stride must be at least rows.count() rounded up to 4; up to three scores
/// past the last row are overwritten with arbitrary values. The bits of a score depend only on its
/// two vectors.
void row_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride,
              const KeyRows* ahead = nullptr);

/// out += the sum over the rows of weight * row. Weights past the last row, up to a multiple of 4,
/// must be 0.
void row_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out,
              const KeyRows* ahead = nullptr);

/// For each j: the row at rows + j * row_stride += the sum over g of weights[g * stride + j] *
/// vector g.
void add_outer(const float* weights, Index stride, const float* vectors, Index group, Index dim,
               float* rows, Index row_stride, Index count);

}  // namespace maskctl::attention
