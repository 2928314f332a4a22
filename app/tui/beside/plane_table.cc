#include "app/tui/beside/plane_table.h"

#include <algorithm>
#include <functional>

#include "app/tui/beside/scene.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::app::tui {
namespace {

/// This many rows of a plane are hashed to find candidates for equal planes, which are then
/// compared completely.
constexpr Index kSampledRows = 64;

constexpr Index kPictureRows = 4, kPictureColumns = 8;

std::size_t sample_of(const Plane& plane) {
  std::size_t hash = 0;
  const auto add = [&hash](Index value) {
    hash = (hash ^ std::hash<Index>{}(value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  const Index step = std::max<Index>(plane.queries() / kSampledRows, 1);
  for (Index query = 0; query < plane.queries(); query += step) {
    for (const Run& run : row_runs(plane, query)) {
      add(run.begin);
      add(run.end);
    }
    add(-1);
  }
  return hash;
}

bool same(const PlanePtr& a, const PlanePtr& b) { return a == b || differing_cells(a, b) == 0; }

bool same_ids(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return std::ranges::equal(a, b);
}

Panel panel_at(const Scene& scene, Index batch, Index head) {
  const Mask* other = scene.other ? &*scene.other : nullptr;
  return panels_of(scene.mask, {batch, batch + 1}, {head, head + 1}, scene.ids, other).front();
}

}  // namespace

void PlaneTable::fill(const Scene& scene) {
  while (!complete()) {
    throw_if_stopped();
    const std::lock_guard lock(filling_);
    if (complete()) return;
    const Index row = known();
    fill_row(scene, row);
    known_.store(row + 1, std::memory_order_release);
  }
}

void PlaneTable::fill_row(const Scene& scene, Index row) {
  PlaneRow& out = rows_[as_size(row)];
  const Index batch = row / scene.mask.heads(), head = row % scene.mask.heads();
  const SegmentTensors& ids = scene.ids;
  const bool ids_differ = scene.has_ids() && std::max(ids.q->extent(0), ids.k->extent(0)) > 1;
  const Sources sources{scene.mask.plane(batch, head).get(),
                        scene.other ? scene.other->plane(batch, head).get() : nullptr,
                        ids_differ ? batch : 0};
  const auto found = by_sources_.find(sources);
  if (found != by_sources_.end()) {
    out = rows_[as_size(found->second)];
  } else {
    const Panel panel = panel_at(scene, batch, head);
    out.open = panel.plane->count();
    out.finds = finds_in(*panel.plane, leaks_in(panel, scene.pad_id), difference_of(panel));
    out.picture = std::make_shared<const DensityGrid>(
        density(*panel.plane, ceil_div(scene.mask.queries(), kPictureRows),
                ceil_div(scene.mask.keys(), kPictureColumns)));
    out.like = first_like(scene, panel, row);
    by_sources_.emplace(sources, row);
  }
  out.batch = batch;
  out.head = head;
}

Index PlaneTable::first_like(const Scene& scene, const Panel& panel, Index row) {
  const PlaneRow& own = rows_[as_size(row)];
  const Likeness likeness{own.open, own.finds.leaks.count, own.finds.differences.count,
                          own.finds.empty_rows.count, sample_of(*panel.plane)};
  const auto [begin, end] = by_likeness_.equal_range(likeness);
  for (auto at = begin; at != end; ++at) {
    const PlaneRow& first = rows_[as_size(at->second)];
    const Panel like = panel_at(scene, first.batch, first.head);
    const bool same_leaks =
        own.finds.leaks.count == 0 || (same_ids(panel.q_segments, like.q_segments) &&
                                       same_ids(panel.k_segments, like.k_segments));
    if (same_leaks && same(panel.plane, like.plane) &&
        (!panel.other || same(panel.other, like.other))) {
      return at->second;
    }
  }
  by_likeness_.emplace(likeness, row);
  return row;
}

}  // namespace maskctl::app::tui
