// Products of a few query vectors with rows of K or V where they lie, unpacked, f32 sums: what
// decoding and block-sparse attention are made of.
#pragma once

#include "maskctl/attention/cpu/key_rows.h"

namespace maskctl::attention {

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
