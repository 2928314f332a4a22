// The size of blocks of cells.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

/// The size of a block (tile): q queries by k keys.
struct BlockSize {
  Index q = 0;
  Index k = 0;
  friend bool operator==(const BlockSize&, const BlockSize&) = default;
};

}  // namespace maskctl
