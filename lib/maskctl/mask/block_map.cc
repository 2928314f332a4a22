#include "maskctl/mask/block_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

Index tiles_of(std::span<const TileRun> runs, Fill fill) {
  Index tiles = 0;
  for (const TileRun& run : runs) tiles += run.fill == fill ? run.count : 0;
  return tiles;
}

constexpr Index kTileRowsPerTask = 64;

}  // namespace

Index TileMap::full() const { return tiles_of(runs, Fill::kFull); }
Index TileMap::partial() const { return tiles_of(runs, Fill::kPartial); }

TileMap tile_map(const Plane& plane, Index q_tile, Index k_tile) {
  if (q_tile < 1 || k_tile < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("block of {} x {}: expected sizes of at least 1", q_tile, k_tile));
  }
  TileMap map{plane.queries(), plane.keys(), q_tile, k_tile, {0}, {}};
  const Index rows = map.tile_rows();
  const Index tasks = ceil_div(rows, kTileRowsPerTask);
  struct Part {
    std::vector<TileRun> runs;
    std::vector<Index> ends;
  };
  std::vector<Part> parts(static_cast<std::size_t>(tasks));
  parallel_for(tasks, [&](Index task) {
    Part& part = parts[static_cast<std::size_t>(task)];
    const Index last = std::min((task + 1) * kTileRowsPerTask, rows);
    for (Index t = task * kTileRowsPerTask; t < last; ++t) {
      if (plane.keys() > 0) {
        plane.tiles({t * q_tile, std::min((t + 1) * q_tile, plane.queries())}, k_tile, part.runs);
      }
      part.ends.push_back(static_cast<Index>(part.runs.size()));
    }
  });
  map.row_offsets.reserve(static_cast<std::size_t>(rows) + 1);
  for (const Part& part : parts) {
    const auto base = static_cast<Index>(map.runs.size());
    map.runs.insert(map.runs.end(), part.runs.begin(), part.runs.end());
    for (const Index end : part.ends) map.row_offsets.push_back(base + end);
  }
  return map;
}

BlockMap::BlockMap(PlanePtr plane, Index q_tile, Index k_tile)
    : plane_(std::move(plane)), tiles_(tile_map(*plane_, q_tile, k_tile)) {}

TilePayload BlockMap::payload(Index tile_row, Index tile_column) const {
  const Range q{tile_row * tiles_.q_tile, std::min((tile_row + 1) * tiles_.q_tile, tiles_.queries)};
  const Range k{tile_column * tiles_.k_tile,
                std::min((tile_column + 1) * tiles_.k_tile, tiles_.keys)};
  const auto stride = static_cast<std::size_t>(words_for(tiles_.k_tile));
  TileIntervals intervals;
  TileBits bits{std::vector<std::uint64_t>(static_cast<std::size_t>(q.size()) * stride)};
  bool single = true;
  std::vector<Run> all, cut;
  plane_->rows(q, [&](Range r, const Keys& keys) {
    all.clear();
    cut.clear();
    if (keys.is_words()) words_to_runs(keys.words, all);
    clip_runs(keys.is_words() ? all : keys.runs, k, k.begin, cut);
    single = single && cut.size() <= 1;
    for (Index row = r.begin; row < r.end; ++row) {
      intervals.rows.push_back(cut.empty() ? Run{0, 0} : cut.front());
      runs_to_words(
          cut,
          std::span(bits.words).subspan(static_cast<std::size_t>(row - q.begin) * stride, stride));
    }
  });
  if (single) return intervals;
  return bits;
}

}  // namespace maskctl
