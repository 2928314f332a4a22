#include "maskctl/inspect/recognise/clipped_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/sharing.h"

namespace maskctl::recognition {
namespace {

/// The keys of a token as runs.
std::vector<Run> row_of(const ClippedGrid& grid, Index tokens, Index token) {
  std::vector<Run> out;
  const Index y = token / grid.width, x = token % grid.width;
  for (Index row = std::max<Index>(y - grid.down, 0); row <= y + grid.down; ++row) {
    const Index begin = row * grid.width + std::max<Index>(x - grid.along, 0);
    const Index end = std::min(row * grid.width + std::min(x + grid.along + 1, grid.width), tokens);
    if (begin < end) {
      out.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
    }
  }
  return out;
}

/// The grid whose token sees these keys, if none of them is at a border.
std::optional<ClippedGrid> grid_in(std::span<const Run> runs, Index token) {
  if (runs.size() < 3 || runs.size() % 2 == 0) return std::nullopt;
  ClippedGrid out{.width = runs[1].begin - runs[0].begin,
                  .down = std::ssize(runs) / 2,
                  .along = (runs[0].end - runs[0].begin) / 2};
  const bool odd = (runs[0].end - runs[0].begin) % 2 == 1;
  const Run& own = runs[runs.size() / 2];
  return odd && out.width > 2 * out.along + 1 && own.begin + out.along == token ? std::optional(out)
                                                                                : std::nullopt;
}

}  // namespace

std::optional<ClippedGrid> clipped_grid_of(const Plane& plane) {
  constexpr Index kLooked = 512;
  const Index tokens = plane.queries();
  if (tokens != plane.keys() || tokens * tokens > kSearchedCells) return std::nullopt;
  // The token in the middle that sees the most is at no border.
  std::optional<ClippedGrid> grid;
  std::size_t most = 0;
  std::vector<Run> scratch;
  const Range middle{std::max<Index>(tokens / 2 - kLooked, 0),
                     std::min(tokens / 2 + kLooked, tokens)};
  Index best = 0;
  plane.rows(middle, [&](Range rows, const Keys& keys) {
    const auto runs = as_runs(keys, scratch);
    Index seen = 0;
    for (const Run& run : runs) seen += run.end - run.begin;
    if (seen <= best || runs.size() < most) return;
    best = seen;
    most = runs.size();
    grid = grid_in(runs, rows.begin);
  });
  if (!grid) return std::nullopt;
  bool same = true;
  each_row_while(plane, [&](Range rows, const Keys& keys) {
    const auto runs = as_runs(keys, scratch);
    for (Index q = rows.begin; q < rows.end && same; ++q) {
      same = std::ranges::equal(runs, row_of(*grid, tokens, q));
    }
    return same;
  });
  return same ? grid : std::nullopt;
}

std::string to_text(const ClippedGrid& grid) {
  return fmt::format("neighbourhood of {}x{} in a grid with rows of {} tokens", 2 * grid.down + 1,
                     2 * grid.along + 1, grid.width);
}

}  // namespace maskctl::recognition
