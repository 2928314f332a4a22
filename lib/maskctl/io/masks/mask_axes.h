// Which of its leading axes an array of a mask is written with.
#pragma once

#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// The shape [B,H,rows,columns] without leading axes of extent 1, but with at least `rank` axes.
std::vector<Index> in_rank(std::vector<Index> shape, Index rank);

}  // namespace maskctl
