// Cuts a dataset into boxes that follow each other in C order.
#pragma once

#include <hdf5.h>

#include <functional>
#include <vector>

namespace maskctl::hdf5 {

using Extents = std::vector<hsize_t>;

/// Boxes of at most about 32 MiB: one index on each axis before `axis`, up to `step` indices on it,
/// and the whole of later axes.
struct SlabPlan {
  std::size_t axis = 0;
  hsize_t step = 1;
  hsize_t bytes = 0;          // bytes of the largest box
  bool whole_chunks = false;  // no two boxes share a chunk
};

/// Chooses whole rows of chunks if these are within four times the usual size; `chunk` is empty for
/// data that is not chunked. The caller must have checked that the number of elements times their
/// size fits.
SlabPlan plan_slabs(const Extents& extents, const Extents& chunk, hsize_t element_bytes);

/// Calls `box(start, counts)` for each box, in order; never for an empty array, once for a scalar.
using Box = std::function<void(const Extents& start, const Extents& counts)>;
void each_slab(const Extents& extents, const SlabPlan& plan, const Box& box);

}  // namespace maskctl::hdf5
