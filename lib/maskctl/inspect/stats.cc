// Stats of each distinct plane once, and their sum over batches and heads.
#include "maskctl/inspect/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/inspect/row_stats.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kStoredRuns = Index{1} << 24;

struct PlaneFigures {
  RowFigures rows;
  std::vector<BlockStats> blocks;
};

/// Adds the tiles of one tile row.
void add_tiles(const Plane& plane, Range q, std::vector<TileRun>& scratch, BlockStats& stats) {
  scratch.clear();
  plane.tiles(q, stats.size.k, scratch);
  for (const TileRun& run : scratch) {
    if (run.fill == Fill::kEmpty) continue;
    (run.fill == Fill::kFull ? stats.full : stats.partial) += run.count;
    const Index begin = run.first * stats.size.k;
    const Index end = std::min((Index{run.first} + run.count) * stats.size.k, plane.keys());
    stats.executed += q.size() * (end - begin);
  }
}

BlockStats block_stats(const Plane& plane, BlockSize size) {
  const Index tile_rows = ceil_div(plane.queries(), size.q);
  BlockStats total{size, 0, 0, 0, 0};
  std::mutex mutex;
  const Index tasks = std::min<Index>(tile_rows, Index{threads()} * 8);
  const Index step = tasks > 0 ? ceil_div(tile_rows, tasks) : 1;
  parallel_for(ceil_div(tile_rows, step), [&](Index task) {
    BlockStats part{size, 0, 0, 0, 0};
    std::vector<TileRun> scratch;
    const Index last = std::min((task + 1) * step, tile_rows);
    for (Index row = task * step; row < last; ++row) {
      add_tiles(plane, intersect({row * size.q, (row + 1) * size.q}, {0, plane.queries()}), scratch,
                part);
    }
    const std::lock_guard lock(mutex);
    total.full += part.full;
    total.partial += part.partial;
    total.executed += part.executed;
  });
  total.empty = tile_rows * ceil_div(plane.keys(), size.k) - total.full - total.partial;
  return total;
}

PlaneFigures figures_of(const PlanePtr& plane, std::span<const BlockSize> blocks) {
  PlanePtr read = plane;
  if (plane->computed() && !blocks.empty()) {  // read several times: compute once where it fits
    if (PlanePtr kept = stored(*plane, kStoredRuns)) read = std::move(kept);
  }
  PlaneFigures out{row_figures(*read), {}};
  for (const BlockSize& size : blocks) out.blocks.push_back(block_stats(*read, size));
  return out;
}

PlaneStats summary(const std::vector<RowGroup>& groups, Index keys) {
  PlaneStats out;
  for (const RowGroup& group : groups) {
    out.open += group.keys * group.rows;
    out.rows += group.rows;
    if (group.keys == 0) out.empty_rows += group.rows;
    if (group.keys == keys && keys > 0) out.full_rows += group.rows;
  }
  if (!groups.empty()) {
    out.min_keys = groups.front().keys;
    out.max_keys = groups.back().keys;
  }
  out.median_keys = median(groups);
  return out;
}

void add_block(BlockStats& total, const BlockStats& part, Index times) {
  total.empty += part.empty * times;
  total.partial += part.partial * times;
  total.full += part.full * times;
  total.executed += part.executed * times;
}

PlaneStats total_of(const Mask& mask, const std::vector<PlaneFigures>& figures,
                    std::span<const BlockSize> blocks) {
  std::vector<Index> times(figures.size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) ++times[mask.index_of(b, h)];
  }
  std::vector<RowGroup> groups;
  Index empty_columns = 0;
  bool columns = true;
  std::vector<BlockStats> sums;
  for (const BlockSize& size : blocks) sums.push_back({size, 0, 0, 0, 0});
  for (std::size_t i = 0; i < figures.size(); ++i) {
    groups = merge_groups(groups, figures[i].rows.groups, times[i]);
    columns = columns && figures[i].rows.empty_columns.has_value();
    empty_columns += figures[i].rows.empty_columns.value_or(0) * times[i];
    for (std::size_t s = 0; s < sums.size(); ++s) {
      add_block(sums[s], figures[i].blocks[s], times[i]);
    }
  }
  PlaneStats out = summary(groups, mask.keys());
  if (columns) out.empty_columns = empty_columns;
  out.blocks = std::move(sums);
  return out;
}

}  // namespace

Stats mask_stats(const Mask& mask, std::span<const BlockSize> blocks) {
  for (const BlockSize& size : blocks) {
    if (size.q >= 1 && size.k >= 1) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("block size {}x{}: both sides must be at least 1", size.q, size.k));
  }
  const auto distinct = mask.distinct();
  std::vector<PlaneFigures> figures(distinct.size());
  const auto one = [&](Index i) {
    figures[static_cast<std::size_t>(i)] =
        figures_of(distinct[static_cast<std::size_t>(i)], blocks);
  };
  const auto planes = static_cast<Index>(distinct.size());
  if (planes >= 2 * Index{threads()}) {  // many planes: a plane is a task, else a part of its rows
    parallel_for(planes, one);
  } else {
    for (Index i = 0; i < planes; ++i) one(i);
  }
  Stats out;
  out.total = total_of(mask, figures, blocks);
  for (PlaneFigures& part : figures) {
    PlaneStats stats = summary(part.rows.groups, mask.keys());
    stats.empty_columns = part.rows.empty_columns;
    stats.blocks = std::move(part.blocks);
    out.planes.push_back(std::move(stats));
  }
  return out;
}

}  // namespace maskctl
