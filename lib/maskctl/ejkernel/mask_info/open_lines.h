// Which rows and columns of a mask have an open cell. Used only by mask_info.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// One byte per row and per column: 1 if any of its cells is open.
struct OpenLines {
  std::vector<std::uint8_t> rows, columns;

  OpenLines(Index queries, Index keys)
      : rows(static_cast<std::size_t>(queries)), columns(static_cast<std::size_t>(keys)) {}
  /// Adds the rows and columns in which the plane has an open cell. Reads its rows once.
  void add(const Plane& plane);
};

}  // namespace maskctl
