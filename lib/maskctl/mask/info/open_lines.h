// Which rows and which columns of a mask hold an open cell; private to mask/info.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// One byte for each row and each column: 1 where any of its cells is open.
struct OpenLines {
  std::vector<std::uint8_t> rows, columns;

  OpenLines(Index queries, Index keys)
      : rows(static_cast<std::size_t>(queries)), columns(static_cast<std::size_t>(keys)) {}
  /// Adds those of one plane: one reading of its rows.
  void add(const Plane& plane);
};

}  // namespace maskctl
