// Counts the open cells of a mask one by one, for tests of code that finds them faster.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "maskctl/inspect/count/stats.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::test {

/// All cells of a mask as a dense array, one plane per batch entry and head.
struct CountedCells {
  explicit CountedCells(const Mask& mask)
      : planes(mask.batch() * mask.heads()),
        queries(mask.queries()),
        keys(mask.keys()),
        array(dense_from_mask(mask, Index{1} << 30)) {}

  bool open(Index plane, Index q, Index k) const {
    return array.as<std::uint8_t>()[static_cast<std::size_t>((plane * queries + q) * keys + k)] !=
           0;
  }
  Index count(Index plane, Range q, Range k) const {
    Index open_cells = 0;
    for (Index i = q.begin; i < q.end; ++i) {
      for (Index j = k.begin; j < k.end; ++j) open_cells += open(plane, i, j);
    }
    return open_cells;
  }
  Index in_row(Index plane, Index q) const { return count(plane, {q, q + 1}, {0, keys}); }
  BlockStats blocks(Index plane, BlockSize size) const {
    BlockStats out{size, 0, 0, 0, 0};
    for (Index q = 0; q < queries; q += size.q) {
      for (Index k = 0; k < keys; k += size.k) {
        const Range rows{q, std::min(q + size.q, queries)};
        const Range columns{k, std::min(k + size.k, keys)};
        const Index open_cells = count(plane, rows, columns);
        const Index area = rows.size() * columns.size();
        ++(open_cells == 0 ? out.empty : open_cells == area ? out.full : out.partial);
        if (open_cells > 0) out.executed += area;
      }
    }
    return out;
  }

  Index planes, queries, keys;
  Tensor array;
};

/// A mask of shape [B,H,Q,K] whose cells are open at random.
inline Mask irregular_mask(std::vector<Index> shape, double density, unsigned seed) {
  Tensor array(DType::kBool, std::move(shape));
  std::mt19937 random(seed);
  std::bernoulli_distribution open(density);
  for (std::uint8_t& cell : array.as<std::uint8_t>()) cell = open(random);
  return mask_from_dense(array);
}

}  // namespace maskctl::test
