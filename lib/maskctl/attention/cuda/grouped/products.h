// What the kernels of the grouped product compute.
#pragma once

#include "maskctl/attention/cuda/elements.h"

namespace maskctl::attention::cuda {

/// out[row] = left[row] @ matrices[matrix of the row] (+ added[row]).
struct RowProduct {
  AnyArray left;      // [rows,depth]
  AnyArray matrices;  // [G,depth,columns]; [G,columns,depth] when transposed
  bool transposed = false;
  Index depth = 0, columns = 0;
  AnyArray added;                // [rows,columns] in the dtype of out, or null
  bool adds_everywhere = false;  // false: `added` is added only to rows without a matrix
  AnyResult out;                 // [rows,columns]

  constexpr bool adds(bool has_matrix) const {
    return added.data && (adds_everywhere || !has_matrix);
  }
};

/// out[g] = the sum of left[row]^T right[row] over the rows of matrix g.
struct ColumnProduct {
  AnyArray left;   // [rows,height]
  AnyArray right;  // [rows,width]
  Index height = 0, width = 0;
  AnyResult out;  // [G,height,width]
};

}  // namespace maskctl::attention::cuda
