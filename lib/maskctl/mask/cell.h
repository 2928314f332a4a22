// One cell of a mask.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

struct Cell {
  Index batch = 0, head = 0, query = 0, key = 0;
  friend bool operator==(const Cell&, const Cell&) = default;
};

}  // namespace maskctl
