// Block grids: sizes whose blocks are entirely open or closed; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Blocks of q_size x k_size; map[row * columns + column] is 1 for open blocks.
struct BlockGrid {
  Index q_size = 0, k_size = 0;
  Index rows = 0, columns = 0;
  std::vector<std::uint8_t> map;
};
PlanePtr plane_of(const BlockGrid& grid, Index queries, Index keys);

/// The coarsest grids that have every cell of `open` in an open block and no cell of `closed` in
/// one; empty when such a grid would need nearly as many blocks as there are cells.
std::vector<BlockGrid> exact_grids(const Plane& open, const Plane& closed);

/// Grids that contain all of `open` and close strikingly many cells of `closed`; at most a few.
std::vector<BlockGrid> likely_grids(const Plane& open, const Plane& closed);

/// Counts cells in rectangles in constant time, for small planes.
class AreaSums {
 public:
  static constexpr Index kMostCells = Index{1} << 20;
  explicit AreaSums(const Plane& plane);
  Index operator()(Range q, Range k) const {
    return at(q.end, k.end) - at(q.begin, k.end) - at(q.end, k.begin) + at(q.begin, k.begin);
  }

 private:
  Index at(Index q, Index k) const { return sums_[static_cast<std::size_t>(q * stride_ + k)]; }
  Index stride_;
  std::vector<std::int32_t> sums_;
};

}  // namespace maskctl::recognition
