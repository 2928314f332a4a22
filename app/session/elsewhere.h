// What lies in batches and heads that are not shown.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/inspect/find/find.h"
#include "maskctl/mask/mask.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app {

/// Cells of a batch and head that a drawing marks, at least one.
struct PlaneMarks {
  Index batch = 0, head = 0;
  Index count = 0;
  Place first, last;
  friend bool operator==(const PlaneMarks&, const PlaneMarks&) = default;
};
/// The planes with at least one marked cell, in order of batch and head.
using MarkedPlanes = std::vector<PlaneMarks>;

/// The open cells that join two documents. Each distinct plane is counted once for equal ids.
/// Throws as panels_of().
MarkedPlanes marked_leaks(const Mask& mask, const SegmentTensors& ids, std::int32_t pad_id);
/// The cells in which two masks differ; the other's batches and heads serve all if it has one.
MarkedPlanes marked_differences(const Mask& mask, const Mask& other);

/// "batch 27, head 3", without an axis of which the mask has one.
std::string plane_text(const Mask& mask, Index batch, Index head);

/// "12 leaks in other batches and heads; first: batch 27, head 3: --batch 27 --head 3"; empty when
/// all that are marked are shown. `one` is what is counted: "leak".
std::string elsewhere_text(const Mask& mask, const MarkedPlanes& marked,
                           std::span<const Index> batches, std::span<const Index> heads,
                           std::string_view one);

}  // namespace maskctl::app
