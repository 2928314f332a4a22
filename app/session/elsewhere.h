// Finds marked cells (leaks, differences) in the batches and heads that a drawing does not show.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/inspect/find/find.h"
#include "maskctl/mask/mask.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app {

/// Counts the marked cells of one plane, which has at least one.
struct PlaneMarks {
  Index batch = 0, head = 0;
  Index count = 0;
  Place first, last;
  friend bool operator==(const PlaneMarks&, const PlaneMarks&) = default;
};
/// Planes with marked cells, ordered by batch, then head. Planes without any are left out.
using MarkedPlanes = std::vector<PlaneMarks>;

/// For each plane, the leaks: open cells whose query and key belong to different documents. Throws
/// like panels_of().
MarkedPlanes marked_leaks(const Mask& mask, const SegmentTensors& ids, std::int32_t pad_id);
/// For each plane, the cells in which two masks differ. If `other` has a single batch or head, it
/// is compared with each batch or head of `mask`.
MarkedPlanes marked_differences(const Mask& mask, const Mask& other);

/// "batch 27, head 3"; leaves out an axis along which the mask has only one entry.
std::string plane_text(const Mask& mask, Index batch, Index head);

/// "12 leaks in other batches and heads; first: batch 27, head 3: --batch 27 --head 3". `batches`
/// and `heads` are those that the drawing shows; the result is empty if all marked cells are in
/// these. `one` is the singular noun, here "leak".
std::string elsewhere_text(const Mask& mask, const MarkedPlanes& marked,
                           std::span<const Index> batches, std::span<const Index> heads,
                           std::string_view one);

}  // namespace maskctl::app
