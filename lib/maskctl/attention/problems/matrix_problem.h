// A matrix product: the checked problem that kernels receive. Latent attention (MLA) computes its
// keys and values by it.
#pragma once

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// An f32 matrix [rows, columns] inside an array, or the transpose of one.
struct MatrixView {
  const float* data = nullptr;
  Index rows = 0, columns = 0;
  Index stride = 0;         // elements between rows (between columns if transposed)
  bool transposed = false;  // element (r, c) is data[c * stride + r]
  MemoryPlace place = {};

  /// The number of elements from the first to the last one, gaps included.
  Index extent() const {
    if (rows * columns == 0) return 0;
    return transposed ? (columns - 1) * stride + rows : (rows - 1) * stride + columns;
  }
  float at(Index r, Index c) const {
    return transposed ? data[c * stride + r] : data[r * stride + c];
  }
};

/// Tile sizes of a product on kCpu; 0: the kernel chooses.
struct MatrixTiles {
  Index rows = 0;   // rows per task
  Index depth = 0;  // rows of b that are packed at a time
};

/// out [rows of a, columns of b] = a b, or += a b if `accumulate`.
struct MatrixProblem {
  MatrixView a, b;
  bool accumulate = false;
  MatrixTiles tiles;
};

}  // namespace maskctl::attention
