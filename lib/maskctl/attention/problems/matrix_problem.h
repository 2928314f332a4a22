// A product of matrices, as kernels take it: latent attention rebuilds keys and values with it.
#pragma once

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// A matrix [rows, columns] inside an array, or its transpose; elements are f32.
struct MatrixView {
  const float* data = nullptr;
  Index rows = 0, columns = 0;
  Index stride = 0;         // between rows (columns when transposed)
  bool transposed = false;  // element (r, c) at data[c * stride + r]
  MemoryPlace place = {};

  /// From the first element to the last.
  Index extent() const {
    if (rows * columns == 0) return 0;
    return transposed ? (columns - 1) * stride + rows : (rows - 1) * stride + columns;
  }
  float at(Index r, Index c) const {
    return transposed ? data[c * stride + r] : data[r * stride + c];
  }
};

/// How kCpu cuts a product; 0 is its own choice.
struct MatrixTiles {
  Index rows = 0;   // rows per task
  Index depth = 0;  // depth of a packed part of b
};

/// out [rows of a, columns of b] = or += a b.
struct MatrixProblem {
  MatrixView a, b;
  bool accumulate = false;
  MatrixTiles tiles;
};

}  // namespace maskctl::attention
