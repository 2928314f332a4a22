// The products that rebuild keys and values from a latent, and their gradients.
#pragma once

#include <cstdint>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// A matrix [rows, columns] inside an array, or its transpose; elements are f32.
struct MatrixView {
  const float* data = nullptr;
  Index rows = 0, columns = 0;
  Index stride = 0;         // between rows (columns when transposed)
  bool transposed = false;  // element (r, c) at data[c * stride + r]
};

/// How kCpu cuts a product; 0 is its own choice.
struct MatrixTiles {
  Index rows = 0;   // of a task
  Index depth = 0;  // of a packed part of b
};

/// out[rows, columns] (contiguous) = or += a b. kReference: float64 plain loops; kCpu: packed f32
/// tiles on all threads.
void multiply_matrices(const MatrixView& a, const MatrixView& b, bool accumulate, Backend backend,
                       float* out, const MatrixTiles& tiles = {});

}  // namespace maskctl::attention
