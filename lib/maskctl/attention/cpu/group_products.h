// The two products behind grouped_matmul and its gradients, f32 on the CPU.
#pragma once

#include "maskctl/attention/operations/grouped_matmul/grouped_problem.h"

namespace maskctl::attention {

/// How a product is cut, whatever it is rounded to: rows of the result, columns of it, and what is
/// summed before moving on.
struct ProductTiles {
  Index rows = 384, columns = 128, depth = 256;
};

/// out[i,:] += lhs[i,:] @ rhs[g], or @ its transpose, for the rows i of each matrix g.
/// lhs [m,depth], out [m,width], rhs [G,depth,width] or [G,width,depth].
void multiply_groups(const RowGroups& groups, const float* lhs, Index depth, const float* rhs,
                     bool transposed, Index width, const ProductTiles& tiles, float* out);

/// out[g] = sum over the rows i of matrix g of a[i,:]^T b[i,:]; a [m,height], b [m,width],
/// out [G,height,width].
void multiply_within_groups(const RowGroups& groups, const float* a, Index height, const float* b,
                            Index width, const ProductTiles& tiles, float* out);

}  // namespace maskctl::attention
