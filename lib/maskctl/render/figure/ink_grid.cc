#include "maskctl/render/figure/ink_grid.h"

#include <algorithm>

#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

/// Marks, which are leaks and differences, are enlarged only if they are at most one in this many
/// units.
constexpr Index kUnitsPerMark = 64;

void fill_mask(const Panel& panel, InkGrid& grid) {
  DensityGrid open = density(*panel.plane, grid);
  grid.counts.only_a = open.total();
  for (Index r = 0; r < grid.rows; ++r) {
    for (Index c = 0; c < grid.columns; ++c) {
      grid.inks[grid.index(r, c)] = density_ink(open.at(r, c), grid.area(r, c));
    }
  }
  grid.open = std::move(open.open);
}

void fill_overlay(const Panel& panel, InkGrid& grid) {
  const DensityGrid differ = density(*difference_of(panel), grid);
  DensityGrid a = density(*panel.plane, grid);
  const DensityGrid b = density(*panel.other, grid);
  for (Index r = 0; r < grid.rows; ++r) {
    for (Index c = 0; c < grid.columns; ++c) {
      const Index both = (a.at(r, c) + b.at(r, c) - differ.at(r, c)) / 2;
      const Index only_a = a.at(r, c) - both, only_b = b.at(r, c) - both;
      grid.counts.both += both;
      grid.counts.only_a += only_a;
      grid.counts.only_b += only_b;
      grid.inks[grid.index(r, c)] = overlay_ink(both, only_a, only_b, grid.area(r, c));
    }
  }
  grid.open = std::move(a.open);
}

/// Gives the tiles of a panel, one tile row at a time.
class Tiles {
 public:
  explicit Tiles(const Panel& panel)
      : map_(panel.tiles),
        plane_(panel.plane.get()),
        size_(*tile_size_of(panel)),
        queries_(map_ ? map_->queries : plane_->queries()) {}

  BlockSize size() const { return size_; }
  /// The runs of tiles in a tile row that are not empty; valid until `scratch` changes.
  std::span<const TileRun> row(Index t, std::vector<TileRun>& scratch) const {
    if (map_) return map_->row(t);
    scratch.clear();
    plane_->tiles({t * size_.q, std::min((t + 1) * size_.q, queries_)}, size_.k, scratch);
    return scratch;
  }

 private:
  const TileMap* map_;
  const Plane* plane_;
  BlockSize size_;
  Index queries_;
};

/// How many tiles are full, and how many are partial (neither full nor empty).
struct TileCounts {
  Index full = 0, partial = 0;
};

/// Sets the inks of one row of the grid, which covers these tile rows and columns. Returns the
/// number of full and of partial tiles in it.
TileCounts fill_tile_row(const Tiles& tiles, Range tile_rows, Range tile_columns, BlockSize step,
                         std::span<std::uint8_t> out) {
  std::vector<TileCounts> found(out.size());
  std::vector<TileRun> scratch;
  const StopPoll poll;
  for (Index t = tile_rows.begin; t < tile_rows.end; ++t) {
    poll();
    for (const TileRun& run : tiles.row(t, scratch)) {
      const Range all = intersect({run.first, Index{run.first} + run.count}, tile_columns);
      if (all.empty()) continue;
      const Range drawn{all.begin - tile_columns.begin, all.end - tile_columns.begin};
      for (Index c = drawn.begin / step.k; c * step.k < drawn.end; ++c) {
        TileCounts& unit = found[as_size(c)];
        (run.fill == Fill::kFull ? unit.full : unit.partial) +=
            intersect(drawn, {c * step.k, (c + 1) * step.k}).size();
      }
    }
  }
  TileCounts sum;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const auto [full, partial] = found[c];
    const Index first = static_cast<Index>(c) * step.k;
    const Index area = tile_rows.size() * (std::min(first + step.k, tile_columns.size()) - first);
    if (full + partial > 0) out[c] = full == area ? ink::kAll : ink::kPartial;
    sum.full += full;
    sum.partial += partial;
  }
  return sum;
}

void fill_tiles(const Panel& panel, BlockSize step, InkGrid& grid) {
  const Tiles tiles(panel);
  const auto [q_tile, k_tile] = tiles.size();
  const Range rows{grid.q.begin / q_tile, ceil_div(grid.q.end, q_tile)};
  const Range columns{grid.k.begin / k_tile, ceil_div(grid.k.end, k_tile)};
  std::vector<TileCounts> counts(as_size(grid.rows));
  parallel_for(grid.rows, [&](Index r) {
    const Index begin = rows.begin + r * step.q;
    counts[as_size(r)] =
        fill_tile_row(tiles, {begin, std::min(begin + step.q, rows.end)}, columns, step,
                      std::span(grid.inks).subspan(grid.index(r, 0), as_size(grid.columns)));
  });
  for (const auto& [full, partial] : counts) {
    grid.counts.full += full;
    grid.counts.partial += partial;
  }
  grid.counts.tile_area = rows.size() * columns.size();
}

void mark_leaks(const DocumentPlanes& documents, InkGrid& grid) {
  if (!documents.leaks) return;
  grid.counts.padding = density(*documents.padding, grid).total();
  const DensityGrid found = density(*documents.leaks, grid);
  grid.counts.leaks = found.total();
  if (grid.counts.leaks == 0) return;
  for (std::size_t i = 0; i < grid.inks.size(); ++i) {
    if (found.open[i] > 0) grid.inks[i] = ink::kLeak;
  }
}

}  // namespace

Units finest_units(const Figure& figure) {
  const BlockSize unit = tile_size_of(figure.panels.front()).value_or(BlockSize{1, 1});
  return {ceil_div(drawn_queries(figure).size(), unit.q),
          ceil_div(drawn_keys(figure).size(), unit.k)};
}

InkGrid ink_grid(const Figure& figure, const Panel& panel, BlockSize step) {
  const BlockSize unit = tile_size_of(panel).value_or(BlockSize{1, 1});
  InkGrid grid;
  static_cast<GridShape&>(grid) =
      grid_shape(drawn_queries(figure), drawn_keys(figure), {step.q * unit.q, step.k * unit.k});
  grid.set = ink_set(panel);
  grid.blocks = step != BlockSize{1, 1};
  grid.inks.assign(as_size(grid.rows * grid.columns), ink::kNone);
  grid.counts.area = grid.q.size() * grid.k.size();
  if (grid.inks.empty()) return grid;
  switch (grid.set) {
    case InkSet::kMask:
      fill_mask(panel, grid);
      break;
    case InkSet::kOverlay:
      fill_overlay(panel, grid);
      break;
    case InkSet::kTiles:
      fill_tiles(panel, step, grid);
      break;
  }
  mark_leaks(document_planes(panel, figure.pad_id), grid);
  return grid;
}

InkGrid as_tiles(InkGrid grid, BlockSize tile) {
  for (std::uint8_t& ink : grid.inks) {
    if (ink != ink::kNone && ink < ink::kAll) ink = ink::kPartial;
  }
  grid.set = InkSet::kTiles;
  grid.blocks = BlockSize{grid.q_step, grid.k_step} != tile;
  return grid;
}

void enlarge_marks(InkGrid& grid, Index radius) {
  std::vector<std::size_t> marks;
  for (std::size_t i = 0; i < grid.inks.size(); ++i) {
    if (is_mark(grid.set, grid.inks[i])) marks.push_back(i);
  }
  if (radius == 0 || std::ssize(marks) * kUnitsPerMark > std::ssize(grid.inks)) return;
  for (const std::size_t mark : marks) {
    const Index row = static_cast<Index>(mark) / grid.columns;
    const Index column = static_cast<Index>(mark) % grid.columns;
    const Range rows = intersect({row - radius, row + radius + 1}, {0, grid.rows});
    const Range columns = intersect({column - radius, column + radius + 1}, {0, grid.columns});
    for (Index r = rows.begin; r < rows.end; ++r) {
      for (Index c = columns.begin; c < columns.end; ++c) {
        std::uint8_t& ink = grid.inks[grid.index(r, c)];
        if (!is_mark(grid.set, ink)) ink = grid.inks[mark];
      }
    }
  }
}

}  // namespace maskctl
