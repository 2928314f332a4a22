#include "maskctl/inspect/recognise/blocks.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "maskctl/base/threads.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/leaves.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostBlocks = Index{1} << 24;
constexpr std::size_t kSizesTried = 6;

struct Size {
  Index q = 0, k = 0;
};

struct BlockedExtent {
  Index queries, keys;
  Index blocks(Size size) const { return ceil_div(queries, size.q) * ceil_div(keys, size.k); }
  /// False if the map would have nearly as many entries as there are cells, which explains nothing.
  bool worth(Size size) const { return blocks(size) * 8 <= queries * keys; }
};

/// Calls f(index, rows, keys) for each block, row by row, until f returns false.
template <typename F>
bool each_block(const BlockedExtent& extent, Size size, F&& f) {
  Index at = 0;
  for (Index q = 0; q < extent.queries; q += size.q) {
    const Range rows{q, std::min(q + size.q, extent.queries)};
    for (Index k = 0; k < extent.keys; k += size.k, ++at) {
      if (!f(at, rows, Range{k, std::min(k + size.k, extent.keys)})) return false;
    }
  }
  return true;
}

/// Counts the open and the closed cells in rectangles of a small plane.
class GridCells {
 public:
  GridCells(const Plane& open, const Plane& closed)
      : extent_{open.queries(), open.keys()}, open_(open), closed_(closed) {}
  const BlockedExtent& extent() const { return extent_; }

  bool exact(Size size) const {
    return each_block(extent_, size, [&](Index, Range q, Range k) {
      return open_(q, k) == 0 || closed_(q, k) == 0;
    });
  }
  /// How many cells of `closed` are in blocks without a cell of `open`.
  Index closes(Size size) const {
    Index cells = 0;
    each_block(extent_, size, [&](Index, Range q, Range k) {
      if (open_(q, k) == 0) cells += closed_(q, k);
      return true;
    });
    return cells;
  }
  BlockGrid grid(Size size) const {
    BlockGrid grid{
        size.q, size.k, ceil_div(extent_.queries, size.q), ceil_div(extent_.keys, size.k), {}};
    grid.map.resize(static_cast<std::size_t>(grid.rows * grid.columns));
    each_block(extent_, size, [&](Index at, Range q, Range k) {
      grid.map[static_cast<std::size_t>(at)] = open_(q, k) > 0;
      return true;
    });
    return grid;
  }

 private:
  BlockedExtent extent_;
  AreaSums open_, closed_;
};

/// Tries the few largest sizes along one axis, each with the largest size along the other axis that
/// fits, and keeps the size with the fewest blocks.
void try_axis(const GridCells& cells, bool by_query, std::optional<Size>& best) {
  const BlockedExtent& extent = cells.extent();
  const Index most = by_query ? extent.queries : extent.keys;
  const Index other = by_query ? extent.keys : extent.queries;
  std::size_t tried = 0;
  for (Index first = most; first > 1 && tried < kSizesTried; --first) {
    const auto size = [&](Index second) {
      return by_query ? Size{first, second} : Size{second, first};
    };
    if (!cells.exact(size(1))) continue;
    ++tried;
    Index second = other;
    while (second > 1 && !cells.exact(size(second))) --second;
    if (!best || extent.blocks(size(second)) < extent.blocks(*best)) best = size(second);
  }
}

std::vector<BlockGrid> small_exact(const Plane& open, const Plane& closed) {
  const GridCells cells(open, closed);
  const BlockedExtent& extent = cells.extent();
  std::optional<Size> best;
  for (Index size = std::max(extent.queries, extent.keys); size > 1 && !best; --size) {
    if (cells.exact({size, size})) best = Size{size, size};
  }
  try_axis(cells, true, best);
  try_axis(cells, false, best);
  if (!best || !extent.worth(*best)) return {};
  return {cells.grid(*best)};
}

/// Returns block sizes that close clearly more cells than every larger size. Those that close the
/// most additional cells come first.
template <typename F>
std::vector<Index> records(Index most, F&& closes) {
  struct Record {
    Index size, gain;
  };
  std::vector<Record> found;
  Index best = 0;
  for (Index size = most; size > 1; --size) {
    const Index cells = closes(size);
    if (cells <= best + best / 8) continue;
    found.push_back({size, cells - best});
    best = cells;
  }
  std::sort(found.begin(), found.end(),
            [](const Record& a, const Record& b) { return a.gain > b.gain; });
  std::vector<Index> sizes;
  for (const Record& record : found) {
    if (sizes.size() < kSizesTried) sizes.push_back(record.size);
  }
  return sizes;
}

/// For planes stored row by row: the greatest common divisor of the rows at which the keys change,
/// and that of all ends of runs.
class RowEdges {
 public:
  explicit RowEdges(const Plane& plane) {
    constexpr Index kRows = 256;
    for (Index row = 0; row < plane.queries() && !hopeless(); row += kRows) {
      const Range rows{row, std::min(row + kRows, plane.queries())};
      plane.rows(rows, [&](Range equal, const Keys& keys) {
        if (!hopeless()) add(equal.begin, keys, plane.keys());
      });
    }
  }
  Size size() const { return size_; }

 private:
  bool hopeless() const { return size_.q == 1 && size_.k == 1; }
  void add(Index row, const Keys& keys, Index last_key) {
    runs_.assign(keys.runs.begin(), keys.runs.end());
    if (keys.is_words()) words_to_runs(keys.words, runs_);
    if (row > 0 && runs_ == before_) return;
    size_.q = std::gcd(size_.q, row);
    for (std::size_t i = 0; i < runs_.size() && size_.k != 1; ++i) {
      size_.k = std::gcd(size_.k, Index{runs_[i].begin});
      if (runs_[i].end != last_key) size_.k = std::gcd(size_.k, Index{runs_[i].end});
    }
    std::swap(runs_, before_);
  }
  Size size_;
  std::vector<Run> runs_, before_;
};

/// For planes of bands: the greatest common divisors of their horizontal and of their vertical
/// edges. Slanted edges come from other steps.
Size flat_edges(const Plane& plane) {
  Size size;
  each_band(plane, [&](Range rows, const Band& band) {
    for (const Index row : {rows.begin, rows.end}) {
      if (row != plane.queries()) size.q = std::gcd(size.q, row);
    }
    if (!band.begin_slope) size.k = std::gcd(size.k, band.begin);
    if (!band.end_slope && band.end != plane.keys()) size.k = std::gcd(size.k, band.end);
  });
  return size;
}

/// The largest block size whose grid contains all edges of both planes; nothing if its blocks have
/// only a few cells, or if there are too many.
std::optional<Size> common_size(const Plane& open, const Plane& closed) {
  Size size;
  for (const Plane* plane : {&open, &closed}) {
    const Size edges = slabs_of(*plane) ? flat_edges(*plane) : RowEdges(*plane).size();
    size = {std::gcd(size.q, edges.q), std::gcd(size.k, edges.k)};
    if (size.q == 1 && size.k == 1) return std::nullopt;
  }
  if (size.q == 0) size.q = open.queries();
  if (size.k == 0) size.k = open.keys();
  const BlockedExtent extent{open.queries(), open.keys()};
  if (size.q * size.k < 4 || extent.blocks(size) > kMostBlocks) return std::nullopt;
  return size;
}

/// The grid in which blocks with a cell of `plane` are open.
BlockGrid touched_blocks(const Plane& plane, Size size) {
  BlockGrid grid{
      size.q, size.k, ceil_div(plane.queries(), size.q), ceil_div(plane.keys(), size.k), {}};
  grid.map.resize(static_cast<std::size_t>(grid.rows * grid.columns));
  const auto touch = [&](Index row, std::vector<TileRun>& tiles) {
    tiles.clear();
    plane.tiles({row * size.q, std::min((row + 1) * size.q, plane.queries())}, size.k, tiles);
    for (const TileRun& tile : tiles) {
      const auto first = grid.map.begin() + row * grid.columns + tile.first;
      if (tile.fill != Fill::kEmpty) std::fill(first, first + tile.count, 1);
    }
  };
  const Index tasks = std::min<Index>(grid.rows, Index{threads()} * 8);
  parallel_for(tasks, [&](Index task) {
    std::vector<TileRun> tiles;
    for (Index row = task * grid.rows / tasks; row < (task + 1) * grid.rows / tasks; ++row) {
      touch(row, tiles);
    }
  });
  return grid;
}

std::vector<BlockGrid> large_grids(const Plane& open, const Plane& closed) {
  const auto size = common_size(open, closed);
  if (!size) return {};
  return {touched_blocks(open, *size)};
}

bool is_small(const Plane& plane) { return plane.queries() * plane.keys() <= AreaSums::kMostCells; }

}  // namespace

PlanePtr plane_of(const BlockGrid& grid, Index queries, Index keys) {
  return block_grid(queries, keys, grid.q_size, grid.k_size, grid.map, grid.columns);
}

AreaSums::AreaSums(const Plane& plane)
    : stride_(plane.keys() + 1), sums_(static_cast<std::size_t>((plane.queries() + 1) * stride_)) {
  each_band(plane, [&](Range rows, const Band& band) {
    for (Index row = rows.begin; row < rows.end; ++row) {
      const auto line = sums_.begin() + (row + 1) * stride_ + 1;
      std::fill(line + band.begin_at(row), line + band.end_at(row), 1);
    }
  });
  for (Index row = 1; row <= plane.queries(); ++row) {
    const auto line = sums_.begin() + row * stride_;
    std::partial_sum(line, line + stride_, line);
    std::transform(line, line + stride_, line - stride_, line, std::plus<>());
  }
}

std::vector<BlockGrid> exact_grids(const Plane& open, const Plane& closed) {
  return is_small(open) ? small_exact(open, closed) : large_grids(open, closed);
}

std::vector<BlockGrid> likely_grids(const Plane& open, const Plane& closed) {
  if (!is_small(open)) return large_grids(open, closed);
  const GridCells cells(open, closed);
  const BlockedExtent& extent = cells.extent();
  std::vector<Size> sizes;
  for (const Index size : records(std::max(extent.queries, extent.keys), [&](Index s) {
         return cells.closes({s, s});
       })) {
    sizes.push_back({size, size});
  }
  const auto q_sizes = records(extent.queries, [&](Index s) { return cells.closes({s, 1}); });
  for (const Index q : q_sizes) {
    const auto k_sizes = records(extent.keys, [&](Index s) { return cells.closes({q, s}); });
    if (!k_sizes.empty()) sizes.push_back({q, k_sizes.front()});
  }
  std::vector<BlockGrid> grids;
  for (const Size size : sizes) {
    if (extent.worth(size)) grids.push_back(cells.grid(size));
  }
  return grids;
}

}  // namespace maskctl::recognition
