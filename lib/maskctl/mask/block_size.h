// The size of blocks of cells.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

/// Queries and keys of one block (tile).
struct BlockSize {
  Index q = 0;
  Index k = 0;
  friend bool operator==(const BlockSize&, const BlockSize&) = default;
};

}  // namespace maskctl
