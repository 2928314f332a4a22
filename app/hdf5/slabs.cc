#include "app/hdf5/slabs.h"

#include <algorithm>

namespace maskctl::hdf5 {
namespace {

constexpr hsize_t kSlabBytes = hsize_t{32} << 20U;
constexpr hsize_t kLargestSlab = 4 * kSlabBytes;

bool is_empty(const Extents& extents) { return std::ranges::find(extents, 0) != extents.end(); }

hsize_t chunk_extent(const Extents& chunk, std::size_t axis) {
  return chunk.empty() ? 1 : std::max<hsize_t>(1, chunk[axis]);
}

/// True if chunks have extent 1 on all axes before `axis`. Boxes have extent 1 there, too, so they
/// split no chunk along these axes.
bool uncut_before(const Extents& chunk, std::size_t axis) {
  for (std::size_t i = 0; i < axis; ++i) {
    if (chunk_extent(chunk, i) != 1) return false;
  }
  return true;
}

/// Moves `start` to the next index of the axes before `axis`, in C order; false after the last one.
bool advance(Extents& start, const Extents& extents, std::size_t axis) {
  while (axis-- > 0) {
    if (++start[axis] < extents[axis]) return true;
    start[axis] = 0;
  }
  return false;
}

}  // namespace

SlabPlan plan_slabs(const Extents& extents, const Extents& chunk, hsize_t element_bytes) {
  if (extents.empty() || is_empty(extents)) return {0, 1, element_bytes, true};
  std::vector<hsize_t> behind(extents.size(), element_bytes);  // stride of each axis, in bytes
  for (std::size_t axis = extents.size() - 1; axis-- > 0;) {
    behind[axis] = behind[axis + 1] * extents[axis + 1];
  }
  std::size_t axis = 0;
  while (axis + 1 < extents.size() && behind[axis] > kSlabBytes) ++axis;
  // Prefer boxes that consist of whole chunks: try each axis from the first on, with a step of as
  // many chunks as fit.
  for (std::size_t i = 0; i <= axis; ++i) {
    const hsize_t rows = std::min(chunk_extent(chunk, i), extents[i]);
    if (behind[i] > kLargestSlab / rows || !uncut_before(chunk, i)) continue;
    const hsize_t step = std::max(rows, kSlabBytes / behind[i] / rows * rows);
    return {i, std::min(step, extents[i]), std::min(step, extents[i]) * behind[i], true};
  }
  const hsize_t step = std::clamp<hsize_t>(kLargestSlab / behind[axis], 1, extents[axis]);
  return {axis, step, step * behind[axis], false};
}

void each_slab(const Extents& extents, const SlabPlan& plan, const Box& box) {
  if (is_empty(extents)) return;
  if (extents.empty()) return box({}, {});
  Extents start(extents.size(), 0);
  Extents counts(extents.size(), 1);
  std::copy(extents.begin() + static_cast<std::ptrdiff_t>(plan.axis), extents.end(),
            counts.begin() + static_cast<std::ptrdiff_t>(plan.axis));
  do {
    for (hsize_t at = 0; at < extents[plan.axis]; at += plan.step) {
      start[plan.axis] = at;
      counts[plan.axis] = std::min(plan.step, extents[plan.axis] - at);
      box(start, counts);
    }
    start[plan.axis] = 0;
  } while (advance(start, extents, plan.axis));
}

}  // namespace maskctl::hdf5
