#include "maskctl/render/figure/ink_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/render/figure/density.h"
#include "maskctl/render/text/layout.h"

namespace maskctl {
namespace {

/// The shorter axis gets at least this many units before blocks are made square.
constexpr Index kEnoughUnits = 64;

Index refine(Index step, Index extent, Index room) {
  while (step > 1 && ceil_div(extent, step) < kEnoughUnits && ceil_div(extent, step / 2) <= room) {
    step /= 2;
  }
  return step;
}

/// The units of the picture (cells, tiles) per unit of the grid.
BlockSize choose_step(Index rows, Index columns, Index max_rows, Index max_columns) {
  const Index step =
      std::max(round_step(ceil_div(rows, max_rows)), round_step(ceil_div(columns, max_columns)));
  return {refine(step, rows, max_rows), refine(step, columns, max_columns)};
}

InkGrid sized(const PictureInput& input, Index rows, Index columns, BlockSize step) {
  InkGrid grid;
  grid.set = ink_set(input);
  grid.queries = picture_queries(input);
  grid.keys = picture_keys(input);
  grid.q_step = step.q;
  grid.k_step = step.k;
  grid.rows = ceil_div(rows, step.q);
  grid.columns = ceil_div(columns, step.k);
  grid.blocks = step != kOneElement;
  grid.inks.assign(static_cast<std::size_t>(grid.rows * grid.columns), ink::kNone);
  grid.counts.area = grid.queries * grid.keys;
  return grid;
}

void fill_mask(const PictureInput& input, InkGrid& grid) {
  const DensityGrid open = density(*input.plane, grid.q_step, grid.k_step);
  grid.counts.only_a = open.total();
  for (Index r = 0; r < grid.rows; ++r) {
    for (Index c = 0; c < grid.columns; ++c) {
      grid.inks[static_cast<std::size_t>(r * grid.columns + c)] =
          density_ink(open.at(r, c), open.area(r, c));
    }
  }
}

void fill_overlay(const PictureInput& input, InkGrid& grid) {
  const PlanePtr common = combine(Op::kAnd, input.plane, input.other);
  const DensityGrid a = density(*input.plane, grid.q_step, grid.k_step);
  const DensityGrid b = density(*input.other, grid.q_step, grid.k_step);
  const DensityGrid both = density(*common, grid.q_step, grid.k_step);
  grid.counts.both = both.total();
  grid.counts.only_a = a.total() - grid.counts.both;
  grid.counts.only_b = b.total() - grid.counts.both;
  for (Index r = 0; r < grid.rows; ++r) {
    for (Index c = 0; c < grid.columns; ++c) {
      const Index shared = both.at(r, c);
      grid.inks[static_cast<std::size_t>(r * grid.columns + c)] =
          overlay_ink(shared, a.at(r, c) - shared, b.at(r, c) - shared, a.area(r, c));
    }
  }
}

/// One row of the grid: how many of its tiles are full, and how many are not empty.
void fill_tile_row(const TileMap& map, Range tile_rows, BlockSize step,
                   std::span<std::uint8_t> out) {
  std::vector<Index> full(out.size()), open(out.size());
  for (Index t = tile_rows.begin; t < tile_rows.end; ++t) {
    const auto begin = static_cast<std::size_t>(map.row_offsets[static_cast<std::size_t>(t)]);
    const auto end = static_cast<std::size_t>(map.row_offsets[static_cast<std::size_t>(t) + 1]);
    for (const TileRun& run : std::span(map.runs).subspan(begin, end - begin)) {
      const Range tiles{run.first, Index{run.first} + run.count};
      for (Index c = tiles.begin / step.k; c * step.k < tiles.end; ++c) {
        const Index n = intersect(tiles, {c * step.k, (c + 1) * step.k}).size();
        open[static_cast<std::size_t>(c)] += n;
        if (run.fill == Fill::kFull) full[static_cast<std::size_t>(c)] += n;
      }
    }
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    const Index first = static_cast<Index>(c) * step.k;
    const Index area = tile_rows.size() * (std::min(first + step.k, map.tile_columns()) - first);
    if (open[c] > 0) out[c] = full[c] == area ? ink::kFull : ink::kPartial;
  }
}

InkGrid tile_grid(const PictureInput& input, Index max_rows, Index max_columns) {
  const TileMap& map = *input.tiles;
  const BlockSize step = choose_step(map.tile_rows(), map.tile_columns(), max_rows, max_columns);
  InkGrid grid = sized(input, map.tile_rows(), map.tile_columns(), step);
  parallel_for(grid.rows, [&](Index r) {
    const auto columns = static_cast<std::size_t>(grid.columns);
    fill_tile_row(map, {r * step.q, std::min((r + 1) * step.q, map.tile_rows())}, step,
                  std::span(grid.inks).subspan(static_cast<std::size_t>(r) * columns, columns));
  });
  grid.q_step *= map.q_tile;
  grid.k_step *= map.k_tile;
  grid.counts.full = map.full();
  grid.counts.partial = map.partial();
  grid.counts.tile_area = map.tile_rows() * map.tile_columns();
  return grid;
}

}  // namespace

Index picture_queries(const PictureInput& input) {
  return input.tiles != nullptr ? input.tiles->queries : input.plane->queries();
}

Index picture_keys(const PictureInput& input) {
  return input.tiles != nullptr ? input.tiles->keys : input.plane->keys();
}

void check_picture(const PictureInput& input, const PictureOptions& options) {
  if (input.tiles == nullptr && !input.plane) {
    throw Error(Errc::kInvalidArgument, "nothing to draw: expected a mask or tiles");
  }
  if (input.tiles != nullptr && input.other) {
    throw Error(Errc::kInvalidArgument, "tiles and a second mask in one picture: expected one");
  }
  const Index queries = picture_queries(input), keys = picture_keys(input);
  if (input.other && (input.other->queries() != queries || input.other->keys() != keys)) {
    throw Error(Errc::kShape,
                fmt::format("masks of {} queries x {} keys and {} x {}: a picture of both needs "
                            "equal extents",
                            queries, keys, input.other->queries(), input.other->keys()));
  }
  check_segments("queries", input.q_segments.size(), queries);
  check_segments("keys", input.k_segments.size(), keys);
  if (options.max_size < 2 || options.max_size > 4096) {
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("a picture of at most {} pixels: expected 2 to 4096", options.max_size));
  }
  if (options.scale < 0 || options.scale > 256) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} pixels per cell: expected 1 to 256, or 0 for a fitting number",
                            options.scale));
  }
}

InkGrid ink_grid(const PictureInput& input, Index max_rows, Index max_columns) {
  if (input.tiles != nullptr) return tile_grid(input, max_rows, max_columns);
  const Index queries = picture_queries(input), keys = picture_keys(input);
  InkGrid grid = sized(input, queries, keys, choose_step(queries, keys, max_rows, max_columns));
  if (grid.inks.empty()) return grid;
  if (input.other) {
    fill_overlay(input, grid);
  } else {
    fill_mask(input, grid);
  }
  return grid;
}

}  // namespace maskctl
