// Groups of rows that are the same clip of the same shared list; private to the mask layer.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/rows.h"

namespace maskctl {

/// The number of rows that clip the same list in the same way, as `ref` says.
struct ClipGroup {
  RowRef ref;
  Index rows = 0;
};

/// The groups in ascending order of lists, then of clips. Empty clips are left out. `lists` is the
/// number of lists. Linear when rows come in that order or lists are few.
std::vector<ClipGroup> grouped(std::span<const RowRef> refs, std::size_t lists);

}  // namespace maskctl
