// Groups of rows of shared lists with equal list and clip; private to the mask layer.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/rows.h"

namespace maskctl {

/// Rows of one list and one clip.
struct ClipGroup {
  RowRef ref;
  Index rows = 0;
};

/// In ascending order of lists, then of clips; empty clips are left out. `lists` is the number of
/// lists. Linear when rows come in that order or lists are few.
std::vector<ClipGroup> grouped(std::span<const RowRef> refs, std::size_t lists);

}  // namespace maskctl
