// A chain bent until it gives a plane but for a few cells: numbers move to where the plane has
// edges, steps come, go and are taken over from other chains, as long as what is told gets shorter;
// private to inspect.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/inspect/description.h"
#include "maskctl/mask/plane.h"

namespace maskctl::recognising {

/// A chain made from another one.
struct Fitted {
  Chain chain;
  std::vector<Index> from;  // which step of the other each step was; -1 for one that came in
  Index bits = 0;           // of the chain, as `Fit::bits` counts them
  Index residue = 0;        // cells that the chain gives otherwise than the plane
};

struct Fit {
  PlanePtr target;
  /// What it takes to tell a chain; `chain` and `from` are set.
  std::function<Index(const Fitted&)> bits;
  /// Chains whose steps may be taken over.
  std::vector<Chain> hints;
  /// How often a chain may be applied.
  Index trials = 2000;
};

/// Every chain that was the best after some number of edits, the shortest description first; the
/// last is `start` itself. Never empty.
std::vector<Fitted> fitted(const Fit& fit, const Chain& start);

/// What the chain gives, applied to an all-open plane; null where a number is out of range.
PlanePtr made(const Chain& chain, const Extent& extent);

/// How often a chain may be applied to a plane like this one within a moment.
Index affordable_trials(const Plane& plane);

}  // namespace maskctl::recognising
