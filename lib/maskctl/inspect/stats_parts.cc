#include "maskctl/inspect/stats_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kStoredRuns = Index{1} << 24;

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

}  // namespace

void check_blocks(std::span<const BlockSize> blocks) {
  for (const BlockSize& size : blocks) {
    if (size.q >= 1 && size.k >= 1) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("block size {}x{}: both sides must be at least 1", size.q, size.k));
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
    add_block(total, part, 1);
  });
  total.empty = tile_rows * ceil_div(plane.keys(), size.k) - total.full - total.partial;
  return total;
}

void add_block(BlockStats& total, const BlockStats& part, Index times) {
  total.empty += part.empty * times;
  total.partial += part.partial * times;
  total.full += part.full * times;
  total.executed += part.executed * times;
}

PlanePtr readable(const PlanePtr& plane) {
  if (!plane->computed()) return plane;
  PlanePtr kept = stored(*plane, kStoredRuns);
  return kept ? kept : plane;
}

std::vector<Index> plane_uses(const Mask& mask) {
  std::vector<Index> uses(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) ++uses[mask.index_of(b, h)];
  }
  return uses;
}

void for_each_plane(const Mask& mask, const std::function<void(std::size_t i)>& f) {
  const auto planes = std::ssize(mask.distinct());
  const auto one = [&](Index i) { f(static_cast<std::size_t>(i)); };
  if (planes >= 2 * Index{threads()}) return parallel_for(planes, one);
  for (Index i = 0; i < planes; ++i) one(i);
}

}  // namespace maskctl
