// Splits a dataset into boxes that follow each other in C order.
#pragma once

#include <hdf5.h>

#include <functional>
#include <vector>

namespace maskctl::hdf5 {

using Extents = std::vector<hsize_t>;

/// A box has one index on each axis before `axis`, up to `step` indices on `axis`, and all indices
/// on later axes. It usually has at most 32 MiB.
struct SlabPlan {
  std::size_t axis = 0;
  hsize_t step = 1;
  hsize_t bytes = 0;          // size of the largest box
  bool whole_chunks = false;  // no chunk is shared by two boxes
};

/// Plans boxes of whole chunks, unless such a box would have more than 128 MiB. `chunk` is empty
/// for data that is not chunked. The caller must have checked that the total size in bytes does not
/// overflow.
SlabPlan plan_slabs(const Extents& extents, const Extents& chunk, hsize_t element_bytes);

/// Calls `box(start, counts)` for each box in C order: never for an empty array, once for a scalar.
using Box = std::function<void(const Extents& start, const Extents& counts)>;
void each_slab(const Extents& extents, const SlabPlan& plan, const Box& box);

}  // namespace maskctl::hdf5
