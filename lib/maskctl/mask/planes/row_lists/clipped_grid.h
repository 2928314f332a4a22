// Planes whose rows are clipped rows of a block grid: block maps, alone or under a causal or window
// rule.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Query i sees key j where map[i / q_size * columns + j / k_size] is 1 and clip[i].begin <= j <
/// clip[i].end. The blocks are the largest for which this holds.
struct ClippedGrid {
  Index q_size = 0, k_size = 0;
  Index rows = 0, columns = 0;
  std::vector<std::uint8_t> map;
  std::vector<Run> clip;
};

/// Returns the grid and clips of a plane, in O(queries + runs + blocks). Nothing for planes that
/// are not stored as lists of keys which rows share, and for grids of more than 2^24 blocks.
std::optional<ClippedGrid> clipped_grid(const Plane& plane);

}  // namespace maskctl
