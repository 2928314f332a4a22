// Finds block grids: block sizes for which each block is entirely open or entirely closed; private
// to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Blocks of q_size queries x k_size keys. map[row * columns + column] is 1 for open blocks.
struct BlockGrid {
  Index q_size = 0, k_size = 0;
  Index rows = 0, columns = 0;
  std::vector<std::uint8_t> map;
};
PlanePtr plane_of(const BlockGrid& grid, Index queries, Index keys);

/// The coarsest grids with every cell of `open` in an open block and no cell of `closed` in one.
/// Empty if that takes nearly as many blocks as there are cells.
std::vector<BlockGrid> exact_grids(const Plane& open, const Plane& closed);

/// At most a few grids whose open blocks contain all cells of `open` but unusually few of `closed`.
std::vector<BlockGrid> likely_grids(const Plane& open, const Plane& closed);

/// Counts the cells in any rectangle of a small plane in constant time.
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
