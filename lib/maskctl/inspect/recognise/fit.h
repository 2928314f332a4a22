// Varies a chain until it gives a plane except for a few cells: numbers move to edges of the plane,
// and steps are added, removed, or taken over from other chains, as long as the description gets
// shorter; private to inspect.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/inspect/recognise/description.h"
#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// A chain derived from another one.
struct Fitted {
  Chain chain;
  std::vector<Index> from;  // the step that each step was in the other; -1 for a new one
  Index bits = 0;           // description length of the chain, by `Fit::bits`
  Index residue = 0;        // cells in which the chain differs from the plane
};

struct Fit {
  PlanePtr target;
  /// The description length of a variation; only its `chain` and `from` are set.
  std::function<Index(const Fitted&)> bits;
  /// Chains whose steps may be taken over.
  std::vector<Chain> hints;
  /// How often a chain may be applied.
  Index trials = 2000;
};

/// Every chain that was the best after some number of edits, the shortest description first;
/// includes `start` itself. Never empty.
std::vector<Fitted> fitted(const Fit& fit, const Chain& start);

/// The chain applied to an all-open plane; null when a number is out of range.
PlanePtr plane_of(const Chain& chain, const Extent& extent);

/// How many chains can be applied to a plane like this one in a moment.
Index affordable_trials(const Plane& plane);

}  // namespace maskctl::recognition
