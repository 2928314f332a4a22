// Which rows and columns of a mask have an open cell; private to mask_info.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// One byte for each row and each column: 1 if any of its cells is open.
struct OpenLines {
  std::vector<std::uint8_t> rows, columns;

  OpenLines(Index queries, Index keys)
      : rows(static_cast<std::size_t>(queries)), columns(static_cast<std::size_t>(keys)) {}
  /// Adds the open lines of one plane, reading its rows once.
  void add(const Plane& plane);
};

}  // namespace maskctl
