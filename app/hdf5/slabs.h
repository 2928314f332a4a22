// A dataset cut into boxes that follow each other in C order.
#pragma once

#include <hdf5.h>

#include <functional>
#include <vector>

namespace maskctl::hdf5 {

using Extents = std::vector<hsize_t>;

/// Boxes of at most about 32 MiB: one index on the axes before `axis`, up to `step` on it, all of
/// the axes behind it.
struct SlabPlan {
  std::size_t axis = 0;
  hsize_t step = 1;
  hsize_t bytes = 0;          // of the largest box
  bool whole_chunks = false;  // no chunk is needed by two boxes
};

/// Whole rows of chunks where these are within four times the usual size; `chunk` is empty for data
/// that is not chunked. The number of elements times their size must have been checked.
SlabPlan plan_slabs(const Extents& extents, const Extents& chunk, hsize_t element_bytes);

/// Calls `box(start, counts)` for each, in order; nothing for an empty array, once for a scalar.
using Box = std::function<void(const Extents& start, const Extents& counts)>;
void each_slab(const Extents& extents, const SlabPlan& plan, const Box& box);

}  // namespace maskctl::hdf5
