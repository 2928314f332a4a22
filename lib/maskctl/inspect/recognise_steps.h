// Moves spelled out as steps; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/recognise_search.h"
#include "maskctl/mask/step.h"

namespace maskctl::recognising {

struct Extent {
  Index queries, keys;
  bool square() const { return queries == keys; }
};

/// Keeps key - query <= high.
Step causal(const Extent& extent, Index high);
/// Keeps low <= key - query <= high; a side may be unbounded. Aligned so that the offset is 0 where
/// either alignment allows it.
Step window(const Extent& extent, std::optional<Index> low, std::optional<Index> high);
Step pad(Index length, bool left, bool both);
/// Ids from 0; -1 sees nothing. Its arrays have no text.
Step document(const Classes& classes, const Extent& extent);
/// Each move as it is.
Step literal(const Move& move, const Extent& extent);

/// Whether a step reads an array of ids, types or blocks.
bool has_arrays(const Chain& chain);

}  // namespace maskctl::recognising
