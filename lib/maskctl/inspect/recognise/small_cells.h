// The open cells of a small plane as words, which are read much faster than planes; private to
// inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/classes.h"

namespace maskctl::recognition {

/// Row q takes `words_per_row` words from q * words_per_row on.
struct SmallCells {
  static constexpr Index kMostCells = Index{1} << 14;

  Index queries = 0, keys = 0, words_per_row = 0;
  std::vector<std::uint64_t> words;

  static bool hold(const Plane& plane) { return plane.queries() * plane.keys() <= kMostCells; }
  explicit SmallCells(const Plane& plane);

  /// The cells outside a band of diagonals (key - query).
  SmallCells outside(const Diagonals& band) const;
  /// True if a query and a key of the same class are one of the cells.
  bool meet(const Classes& classes) const;
  /// connected() of these cells.
  Classes connected(bool shared) const;
};

}  // namespace maskctl::recognition
