// Writes moves as steps; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/recognise/search.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

struct Extent {
  Index queries, keys;
  bool square() const { return queries == keys; }
};

/// Keeps key - query <= high.
Step causal(const Extent& extent, Index high);
/// Keeps low <= key - query <= high; a side may be unbounded. Chooses an alignment with offset 0 if
/// there is one.
Step window(const Extent& extent, std::optional<Index> low, std::optional<Index> high);
Step pad(Index length, bool left, bool both);
/// Ids from 0; tokens with -1 see nothing. The arrays have no text.
Step document(const Classes& classes, const Extent& extent);
/// Each move as it is, without looking for a simpler form.
Step literal(const Move& move, const Extent& extent);

/// True when a step has an array of ids, types or blocks.
bool has_arrays(const Chain& chain);

}  // namespace maskctl::recognition
