// Rows to columns.
#pragma once

#include <algorithm>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// out [columns, rows] = transpose of src [rows, columns]; row r of each starts at r * its stride.
inline void transpose(const float* src, Index stride, Index rows, Index columns, float* out,
                      Index out_stride) {
  constexpr Index kEdge = 16;  // rows whose cache lines stay at hand
  for (Index begin = 0; begin < rows; begin += kEdge) {
    const Index end = std::min(begin + kEdge, rows);
    for (Index c = 0; c < columns; ++c) {
      for (Index r = begin; r < end; ++r) out[c * out_stride + r] = src[r * stride + c];
    }
  }
}

}  // namespace maskctl::attention
