// Writes the moves that a search has found as steps; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/recognise/search.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

struct Extent {
  Index queries, keys;
  bool square() const { return queries == keys; }
};

/// Returns a causal step that keeps the cells with key - query <= high.
Step causal(const Extent& extent, Index high);
/// Returns a window step that keeps the cells with low <= key - query <= high; a side may be
/// unbounded. Chooses an alignment for which the offset is 0 if there is one.
Step window(const Extent& extent, std::optional<Index> low, std::optional<Index> high);
Step pad(Index length, bool left, bool both);
/// Padding that keeps the same keys for a single query as a causal or window step does, a step for
/// each side on which keys are closed: such a query has no distances to others. Nothing for other
/// steps, and for those that keep no key.
std::optional<Chain> as_padding(const Step& step, Index keys);
/// A document step with ids from 0; tokens with id -1 see nothing. Its arrays have no name.
Step document(const Classes& classes, const Extent& extent);
/// Returns the move, which a search has found, as a step, without looking for a simpler form.
Step literal(const Move& move, const Extent& extent);

/// True if a step has an array of ids, types or blocks.
bool has_arrays(const Chain& chain);

}  // namespace maskctl::recognition
