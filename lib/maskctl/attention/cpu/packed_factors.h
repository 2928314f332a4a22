// Right factors of products, packed for multiply().
#pragma once

#include <algorithm>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/problems/matrix_problem.h"

namespace maskctl::attention {

/// Calls f(part) for consecutive parts of `range` of at most `step` elements.
template <class F>
void for_each_part(Range range, Index step, F&& f) {
  for (Index i = range.begin; i < range.end; i += step) f(Range{i, std::min(i + step, range.end)});
}

/// Packs the rows of b in the range `depth` as the right factor of multiply().
inline void pack(const MatrixView& b, Range depth, float* out) {
  if (b.transposed) {
    pack_columns(b.data + depth.begin, b.stride, b.columns, depth.size(), out);
  } else {
    pack_rows(b.data + depth.begin * b.stride, b.stride, depth.size(), b.columns, out);
  }
}

}  // namespace maskctl::attention
