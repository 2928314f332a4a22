// Products of a few query vectors with rows of K or V where they lie, unpacked, f32 sums: what
// decoding and block-sparse attention are made of.
#pragma once

#include <span>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::attention {

/// Row j of head u is the `dim` elements from data + offsets[j] + u * head_stride on. Rows that
/// are not listed are never read.
struct KeyRows {
  DType dtype = DType::kFloat32;  // or kFloat16, kBFloat16
  const void* data = nullptr;
  std::span<const Index> offsets;  // in elements
  Index heads = 1, head_stride = 0;
  Index dim = 0;
  Index together = 1;  // so many rows of one head lie beside each other; a hint

  Index count() const { return static_cast<Index>(offsets.size()); }
};

// Query number u * group + g goes with head u. Its vector is at `dim` times its number, its scores
// or weights, one for each row, at `stride` times it. The bits of a score depend on its two vectors
// alone.

/// scores = query . row.
void row_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride);

/// out += the sum over the rows of weight * row. Fast where the rows are in the cache.
void row_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out);

/// Row j of `rows`, at j * row_stride, += the sum over g of weights[g * stride + j] * vector g.
void add_outer(const float* weights, Index stride, const float* vectors, Index group, Index dim,
               float* rows, Index row_stride, Index count);

}  // namespace maskctl::attention
