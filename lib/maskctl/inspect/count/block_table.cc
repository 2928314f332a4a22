#include "maskctl/inspect/count/block_table.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <tuple>

#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// The tiles of one tile row, as runs of neighbours. `touched` are the tiles with an open cell,
/// including full tiles.
struct TileRow {
  std::vector<Run> touched, full;
};

/// Appends tiles [begin, end), and merges them with the last run if they touch or overlap it.
void append(Index begin, Index end, std::vector<Run>& runs) {
  if (begin >= end) return;
  if (!runs.empty() && runs.back().end >= begin) {
    runs.back().end = static_cast<std::int32_t>(end);
  } else {
    runs.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
  }
}

Index tiles_in(std::span<const Run> runs) {
  return std::accumulate(runs.begin(), runs.end(), Index{0},
                         [](Index sum, const Run& run) { return sum + run.end - run.begin; });
}

/// Counts the tiles of a plane at several tile sizes, each of which divides the next one.
class Folding {
 public:
  Folding(const Plane& plane, std::span<const BlockSize> sizes)
      : plane_(plane), levels_(sizes.size()) {
    for (std::size_t i = 0; i < sizes.size(); ++i) levels_[i].stats.size = sizes[i];
  }

  /// Counts the tiles of queries `q`, which are one tile row of the largest size, at all sizes.
  void add(Range q) { tile_row(levels_.size() - 1, q); }

  const BlockStats& stats(std::size_t level) const { return levels_[level].stats; }

 private:
  struct Level {
    BlockStats stats;
    TileRow row;
  };

  void tile_row(std::size_t level, Range q) {
    if (level == 0) {
      read(q);
    } else {
      fold(level, q);
    }
    count(q, levels_[level]);
  }

  void read(Range q) {
    auto& [stats, row] = levels_.front();
    tiles_.clear();
    plane_.tiles(q, stats.size.k, tiles_);
    row.touched.clear();
    row.full.clear();
    for (const TileRun& run : tiles_) {
      const Index end = Index{run.first} + run.count;
      if (run.fill != Fill::kEmpty) append(run.first, end, row.touched);
      if (run.fill == Fill::kFull) append(run.first, end, row.full);
    }
  }

  /// Builds a tile row of this size from the tile rows of the next smaller size.
  void fold(std::size_t level, Range q) {
    auto& [stats, row] = levels_[level];
    const auto& [parts, part] = levels_[level - 1];
    for (Index begin = q.begin; begin < q.end; begin += parts.size.q) {
      tile_row(level - 1, intersect({begin, begin + parts.size.q}, q));
      if (begin == q.begin) {
        row = part;
      } else {
        join(Op::kOr, part.touched, row.touched);
        join(Op::kAnd, part.full, row.full);
      }
    }
    widen(stats.size.k / parts.size.k, ceil_div(plane_.keys(), parts.size.k), row);
  }
  void join(Op op, std::span<const Run> part, std::vector<Run>& row) {
    scratch_.clear();
    combine_runs(op, row, part, scratch_);
    std::swap(row, scratch_);
  }

  /// Merges every `factor` neighbouring tiles into one. `tiles`: how many tiles the row has.
  static void widen(Index factor, Index tiles, TileRow& row) {
    const auto each = [](std::vector<Run>& runs, auto&& range_of) {
      std::vector<Run> fine;
      std::swap(fine, runs);
      for (const Run& run : fine) {
        const Range wide = range_of(run);
        append(wide.begin, wide.end, runs);
      }
    };
    each(row.touched, [&](const Run& run) {
      return Range{run.begin / factor, ceil_div(run.end, factor)};
    });
    each(row.full, [&](const Run& run) {
      return Range{ceil_div(run.begin, factor),
                   run.end == tiles ? ceil_div(tiles, factor) : run.end / factor};
    });
  }

  void count(Range q, Level& level) const {
    BlockStats& stats = level.stats;
    const Index full = tiles_in(level.row.full);
    stats.full += full;
    stats.partial += tiles_in(level.row.touched) - full;
    for (const Run& run : level.row.touched) {
      const Index end = std::min(run.end * stats.size.k, plane_.keys());
      stats.executed += q.size() * (end - run.begin * stats.size.k);
    }
  }

  const Plane& plane_;
  std::vector<Level> levels_;
  std::vector<TileRun> tiles_;
  std::vector<Run> scratch_;
};

bool divides(const BlockSize& part, const BlockSize& size) {
  return size.q % part.q == 0 && size.k % part.k == 0;
}

/// Splits the sizes (given as indices) into chains in which each size divides the next.
std::vector<std::vector<std::size_t>> chains_of(std::span<const BlockSize> sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(sizes[i].q, sizes[i].k); });
  std::vector<std::vector<std::size_t>> chains;
  for (const std::size_t i : order) {
    const auto chain = std::ranges::find_if(
        chains, [&](const auto& before) { return divides(sizes[before.back()], sizes[i]); });
    if (chain == chains.end()) {
      chains.push_back({i});
    } else {
      chain->push_back(i);
    }
  }
  return chains;
}

/// Counts the partial and the full tiles of each size in `chain`, in which each size divides the
/// next, and adds them to `totals`.
void count_chain(const Plane& plane, std::span<const std::size_t> chain,
                 std::span<BlockStats> totals) {
  std::vector<BlockSize> sizes;
  for (const std::size_t i : chain) sizes.push_back(totals[i].size);
  const Index height = sizes.back().q, tile_rows = ceil_div(plane.queries(), height);
  const Index tasks = std::min<Index>(tile_rows, Index{threads()} * 8);
  std::mutex mutex;
  parallel_for(tasks, [&](Index task) {
    Folding folding(plane, sizes);
    for (Index row = task * tile_rows / tasks; row < (task + 1) * tile_rows / tasks; ++row) {
      folding.add(intersect({row * height, (row + 1) * height}, {0, plane.queries()}));
    }
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      add_block(totals[chain[i]], folding.stats(i), 1);
    }
  });
}

}  // namespace

std::vector<BlockStats> block_table(const Plane& plane, std::span<const BlockSize> sizes) {
  std::vector<BlockStats> out;
  for (const BlockSize& size : sizes) out.push_back({size, 0, 0, 0, 0});
  for (const auto& chain : chains_of(sizes)) count_chain(plane, chain, out);
  for (BlockStats& stats : out) {
    const auto& [q, k] = stats.size;
    stats.empty =
        ceil_div(plane.queries(), q) * ceil_div(plane.keys(), k) - stats.full - stats.partial;
  }
  return out;
}

void add_block(BlockStats& total, const BlockStats& part, Index times) {
  total.empty += part.empty * times;
  total.partial += part.partial * times;
  total.full += part.full * times;
  total.executed += part.executed * times;
}

}  // namespace maskctl
