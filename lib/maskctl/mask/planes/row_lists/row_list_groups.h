// Groups of rows that see the same shared list of keys, clipped to the same range; private to the
// mask layer.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/rows.h"

namespace maskctl {

/// How many rows see the list of `ref`, clipped to the range of `ref`.
struct ClipGroup {
  RowRef ref;
  Index rows = 0;
};

/// Returns the groups of rows with the same list and clip (range), in ascending order of lists,
/// then of clips. Empty clips are left out. `lists` is the number of lists. Linear when rows come
/// in that order or lists are few.
std::vector<ClipGroup> grouped(std::span<const RowRef> refs, std::size_t lists);

}  // namespace maskctl
