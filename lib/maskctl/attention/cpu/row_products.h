// Products of a few query vectors with rows of K or V where they lie, unpacked, f32 sums: what
// decoding and block-sparse attention are made of.
#pragma once

#include "maskctl/attention/cpu/key_rows.h"

namespace maskctl::attention {

// Query number u * group + g goes with head u. Its vector is at `dim` times its number, its scores
// or weights, one for each row, at `stride` times it.
//
// `ahead`, when not null, are rows with the dtype of `rows`: those that the next call reads. They
// are asked for between the products, in equal shares, so that neither the memory nor the
// arithmetic waits for the other; no more of them than of `rows`.

/// scores = query . row; stride >= rows.count() rounded up to 4: those of the at most three rows
/// past the last one are of no meaning. The bits of a score depend on its two vectors alone.
void row_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride,
              const KeyRows* ahead = nullptr);

/// out += the sum over the rows of weight * row. The at most three weights past the last row, up to
/// a number that divides by 4, are 0.
void row_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out,
              const KeyRows* ahead = nullptr);

/// Row j of `rows`, at j * row_stride, += the sum over g of weights[g * stride + j] * vector g.
void add_outer(const float* weights, Index stride, const float* vectors, Index group, Index dim,
               float* rows, Index row_stride, Index count);

}  // namespace maskctl::attention
