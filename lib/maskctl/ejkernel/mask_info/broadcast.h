// Numpy's broadcasting of shapes; used only by mask_info.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// The shape to which two arrays broadcast. Throws PythonError(TypeError) with both shapes if there
/// is none.
std::vector<Index> broadcast_shape(std::span<const Index> a, std::span<const Index> b);

/// Calls f(offset in a, offset in b) for each element of `shape` in row-major order; arrays of the
/// shapes a and b are broadcast to it.
template <typename F>
void for_each_broadcast(std::span<const Index> shape, std::span<const Index> a,
                        std::span<const Index> b, F&& f) {
  const auto strides_of = [&](std::span<const Index> from) {
    std::vector<Index> strides(shape.size(), 0);
    Index stride = 1;
    for (std::size_t i = 1; i <= from.size(); ++i) {
      const Index extent = from[from.size() - i];
      if (extent != 1) strides[shape.size() - i] = stride;
      stride *= extent;
    }
    return strides;
  };
  const std::vector<Index> step_a = strides_of(a), step_b = strides_of(b);
  for (const Index extent : shape) {
    if (extent == 0) return;
  }
  std::vector<Index> at(shape.size(), 0);
  Index i = 0, j = 0;
  for (;;) {
    f(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    std::size_t axis = shape.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      i += step_a[axis];
      j += step_b[axis];
      if (++at[axis] < shape[axis]) break;
      i -= step_a[axis] * shape[axis];
      j -= step_b[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace maskctl
