#include "maskctl/render/figure/ink_grid.h"

#include <algorithm>

#include "maskctl/base/threads.h"

namespace maskctl {
namespace {

/// Marks are enlarged if no more than one unit in this many is one.
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

/// Tiles of a map that are drawn.
struct TilePart {
  Range rows, columns;
};

TilePart part_of(const TileMap& map, const InkGrid& grid) {
  return {{grid.q.begin / map.q_tile, ceil_div(grid.q.end, map.q_tile)},
          {grid.k.begin / map.k_tile, ceil_div(grid.k.end, map.k_tile)}};
}

/// One row of the grid: how many of its tiles are full, and how many are not empty.
void fill_tile_row(const TileMap& map, Range tile_rows, Range tile_columns, BlockSize step,
                   std::span<std::uint8_t> out) {
  std::vector<Index> full(out.size()), open(out.size());
  for (Index t = tile_rows.begin; t < tile_rows.end; ++t) {
    for (const TileRun& run : map.row(t)) {
      const Range all = intersect({run.first, Index{run.first} + run.count}, tile_columns);
      if (all.empty()) continue;
      const Range tiles{all.begin - tile_columns.begin, all.end - tile_columns.begin};
      for (Index c = tiles.begin / step.k; c * step.k < tiles.end; ++c) {
        const Index n = intersect(tiles, {c * step.k, (c + 1) * step.k}).size();
        open[as_size(c)] += n;
        if (run.fill == Fill::kFull) full[as_size(c)] += n;
      }
    }
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    const Index first = static_cast<Index>(c) * step.k;
    const Index area = tile_rows.size() * (std::min(first + step.k, tile_columns.size()) - first);
    if (open[c] > 0) out[c] = full[c] == area ? ink::kAll : ink::kPartial;
  }
}

void count_tiles(const TileMap& map, const TilePart& part, FigureCounts& counts) {
  for (Index t = part.rows.begin; t < part.rows.end; ++t) {
    for (const TileRun& run : map.row(t)) {
      const Range tiles = intersect({run.first, Index{run.first} + run.count}, part.columns);
      if (tiles.empty()) continue;
      (run.fill == Fill::kFull ? counts.full : counts.partial) += tiles.size();
    }
  }
  counts.tile_area = part.rows.size() * part.columns.size();
}

void fill_tiles(const TileMap& map, BlockSize step, InkGrid& grid) {
  const TilePart part = part_of(map, grid);
  parallel_for(grid.rows, [&](Index r) {
    const Index begin = part.rows.begin + r * step.q;
    fill_tile_row(map, {begin, std::min(begin + step.q, part.rows.end)}, part.columns, step,
                  std::span(grid.inks).subspan(grid.index(r, 0), as_size(grid.columns)));
  });
  count_tiles(map, part, grid.counts);
}

void mark_leaks(const PlanePtr& leaks, InkGrid& grid) {
  if (!leaks) return;
  const DensityGrid found = density(*leaks, grid);
  grid.counts.leaks = found.total();
  if (grid.counts.leaks == 0) return;
  for (std::size_t i = 0; i < grid.inks.size(); ++i) {
    if (found.open[i] > 0) grid.inks[i] = ink::kLeak;
  }
}

}  // namespace

Units finest_units(const Figure& figure) {
  const TileMap* tiles = figure.panels.front().tiles;
  const Index q = drawn_queries(figure).size(), k = drawn_keys(figure).size();
  if (tiles == nullptr) return {q, k};
  return {ceil_div(q, tiles->q_tile), ceil_div(k, tiles->k_tile)};
}

InkGrid ink_grid(const Figure& figure, const Panel& panel, BlockSize step) {
  BlockSize cells = step;
  if (panel.tiles != nullptr) cells = {step.q * panel.tiles->q_tile, step.k * panel.tiles->k_tile};
  InkGrid grid;
  static_cast<GridShape&>(grid) = grid_shape(drawn_queries(figure), drawn_keys(figure), cells);
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
      fill_tiles(*panel.tiles, step, grid);
      break;
  }
  mark_leaks(leaks_of(panel, figure.pad_id), grid);
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
