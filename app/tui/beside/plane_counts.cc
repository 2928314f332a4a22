#include "app/tui/beside/plane_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/tile_counts.h"

namespace maskctl::app::tui {
namespace {

/// A plane (the mask of one batch and head) with more bytes than this is slow to count, and so is
/// one whose rows are computed on demand.
constexpr Index kSmallBytes = Index{1} << 20;

/// Returns the plane in a form in which the open cells of many different rectangles can be counted
/// fast.
PlanePtr quickly_counted(const PlanePtr& plane) {
  return plane->computed() || plane->bytes() > kSmallBytes ? with_tile_counts(plane) : plane;
}

/// The form in which a plane is stored. `count` is the number of its open cells; if it is 0, as it
/// mostly is for leaks and differences, an empty plane is stored instead.
PlanePtr kept(const PlanePtr& plane, Index count) {
  return count > 0 ? quickly_counted(plane) : empty_plane(plane->queries(), plane->keys());
}

Index id_width_of(std::span<const std::int32_t> ids) {
  if (ids.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(ids);
  return std::ssize(fmt::format("{}", std::abs(least) > most ? least : most));
}

constexpr Index kMostBins = 8;

}  // namespace

RowSizes row_sizes_of(const Plane& plane) {
  const Range all{0, plane.queries()};
  Index least = plane.keys(), most = 0;
  plane.row_sizes(all, [&](Range, const Plane::RowSize& size) {
    least = std::min(least, size.keys);
    most = std::max(most, size.keys);
  });
  RowSizes out;
  if (all.empty()) return out;
  const Index width = ceil_div(most - least + 1, kMostBins);
  for (Index from = least; from <= most; from += width) {
    out.bins.push_back({{from, std::min(from + width, most + 1)}});
  }
  plane.row_sizes(all, [&](Range rows, const Plane::RowSize& size) {
    out.bins[as_size((size.keys - least) / width)].rows += rows.size();
  });
  return out;
}

PlaneCounts first_counts(Panel panel) {
  PlaneCounts out;
  out.panel = std::move(panel);
  out.id_width = id_width_of(out.panel.q_segments);
  const bool labelled = !out.panel.q_segments.empty() && !out.panel.k_segments.empty();
  const PlanePtr none = empty_plane(out.panel.plane->queries(), out.panel.plane->keys());
  if (labelled) out.panel.documents = {none, none};
  return out;
}

PlaneCounts all_counts(PlaneCounts counts, const Panel& two, std::int32_t pad_id) {
  Panel& panel = counts.panel;
  panel.documents = {};
  if (two.other) counts.different = quickly_counted(difference_of(two));
  const DocumentPlanes found = document_planes(panel, pad_id);
  const PlanePtr leaks = found.leaks ? found.leaks : leaks_in(panel, pad_id);
  counts.finds = finds_in(*panel.plane, leaks, counts.different);
  if (found.leaks) {
    counts.padding = found.padding->count();
    panel.documents = {kept(leaks, counts.finds.leaks.count), kept(found.padding, counts.padding)};
  }
  panel.plane = quickly_counted(panel.plane);
  counts.open = panel.plane->count();
  counts.row_sizes = row_sizes_of(*panel.plane);
  if (panel.other) {
    panel.other = quickly_counted(panel.other);
    counts.other_open = panel.other->count();
    counts.only = {combine(Op::kSub, two.plane, two.other),
                   combine(Op::kSub, two.other, two.plane)};
    panel.different = counts.different;
  }
  counts.counted = true;
  return counts;
}

TileCounts counted_tiles(const Plane& plane, Index cells) {
  std::atomic<Index> full = 0, partial = 0;
  parallel_for(ceil_div(plane.queries(), cells), [&](Index row) {
    std::vector<TileRun> runs;
    plane.tiles({row * cells, std::min((row + 1) * cells, plane.queries())}, cells, runs);
    for (const TileRun& run : runs) (run.fill == Fill::kFull ? full : partial) += run.count;
  });
  return {full, partial};
}

}  // namespace maskctl::app::tui
