// Products of a few query vectors with keys and values where they lie in pages, while the rows that
// come next are on their way from memory.
#pragma once

#include "maskctl/attention/core/row_products.h"

namespace maskctl::attention {

// Query number u * group + g goes with head u. Its vector is at `dim` times its number, its scores
// or weights, one for each row, at `stride` times it; stride >= rows.count() rounded up to 4.
//
// `ahead`, when not null, are rows with the heads and dim of `rows`: those that the next call
// reads. They are asked for in equal shares between the products, so that neither the memory nor
// the arithmetic waits for the other; no more of them than of `rows`. Where `rows` were asked for
// by the call before, they are in the second cache by now.

/// scores = query . row; those of the at most three rows past the last one are of no meaning.
void paged_dots(const KeyRows& rows, const float* queries, Index group, float* scores, Index stride,
                const KeyRows* ahead);

/// out += the sum over the rows of weight * row. The at most three weights past the
/// last one are 0.
void paged_sums(const KeyRows& rows, const float* weights, Index stride, Index group, float* out,
                const KeyRows* ahead);

}  // namespace maskctl::attention
