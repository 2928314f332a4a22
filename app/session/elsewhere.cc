#include "app/session/elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

/// Planes with equal Kinds have the same marked cells. A Kind is a plane of the mask, the plane of
/// `other` or null, and the batch whose segment ids belong to them.
using Kind = std::tuple<const Plane*, const Plane*, Index>;

PlaneMarks marks_of(const PlanePtr& marked) {
  PlaneMarks out;
  out.count = marked->count();
  if (out.count == 0) return out;
  out.first = *next_open(*marked, {0, -1}, Way::kForward);
  out.last = *next_open(*marked, {marked->queries() - 1, marked->keys()}, Way::kBack);
  return out;
}

/// Marks the planes one after another to save memory. Planes that occur several times are computed
/// once.
template <typename MarkedPlane>
MarkedPlanes marked_planes(const Mask& mask, const SegmentTensors& ids, const Mask* other,
                           const MarkedPlane& marked_plane) {
  const bool ids_differ = ids.q && ids.k && std::max(ids.q->extent(0), ids.k->extent(0)) > 1;
  std::map<Kind, PlaneMarks> known;
  MarkedPlanes out;
  if (mask.cells() == 0) return out;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const Plane* over = other != nullptr ? other->plane(b, h).get() : nullptr;
      const Kind kind{mask.plane(b, h).get(), over, ids_differ ? b : 0};
      auto at = known.find(kind);
      if (at == known.end()) {
        const Panel panel = panels_of(mask, {b, b + 1}, {h, h + 1}, ids, other).front();
        at = known.emplace(kind, marks_of(marked_plane(panel))).first;
      }
      PlaneMarks marks = at->second;
      marks.batch = b;
      marks.head = h;
      if (marks.count > 0) out.push_back(marks);
    }
  }
  return out;
}

/// The axes along which the mask has several entries: "batches and heads", "batches" or "heads".
std::string axes_text(const Mask& mask) {
  if (mask.batch() == 1) return "heads";
  return mask.heads() == 1 ? "batches" : "batches and heads";
}

}  // namespace

MarkedPlanes marked_leaks(const Mask& mask, const SegmentTensors& ids, std::int32_t pad_id) {
  return marked_planes(mask, ids, nullptr, [pad_id](const Panel& panel) {
    return document_planes(panel, pad_id).leaks;
  });
}

MarkedPlanes marked_differences(const Mask& mask, const Mask& other) {
  return marked_planes(mask, {}, &other, difference_of);
}

std::string plane_text(const Mask& mask, Index batch, Index head) {
  std::string out = mask.batch() > 1 ? fmt::format("batch {}", batch) : "";
  if (mask.heads() == 1) return out;
  return out + fmt::format("{}head {}", out.empty() ? "" : ", ", head);
}

std::string elsewhere_text(const Mask& mask, const MarkedPlanes& marked,
                           std::span<const Index> batches, std::span<const Index> heads,
                           std::string_view one) {
  const auto shown = [](std::span<const Index> list, Index i) {
    return std::ranges::find(list, i) != list.end();
  };
  const auto hidden = [&](const PlaneMarks& plane) {
    return !shown(batches, plane.batch) || !shown(heads, plane.head);
  };
  const auto first = std::ranges::find_if(marked, hidden);
  if (first == marked.end()) return "";
  Index count = 0;
  for (const PlaneMarks& plane : marked) count += hidden(plane) ? plane.count : 0;
  std::string options = mask.batch() > 1 ? fmt::format(" --batch {}", first->batch) : "";
  if (mask.heads() > 1) options += fmt::format(" --head {}", first->head);
  return fmt::format("{} in other {}; first: {}:{}", counted(count, one), axes_text(mask),
                     plane_text(mask, first->batch, first->head), options);
}

}  // namespace maskctl::app
