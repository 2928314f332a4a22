// Searches for a chain of steps that makes a plane, by changing a given chain: sets numbers to
// where rows of the plane begin or end, and adds and removes steps, or takes steps of other chains,
// as long as the description gets shorter; private to inspect.
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
  std::vector<Index> from;  // per step, its index in the other chain; -1 for a new step
  Index bits = 0;           // description length without the residue, from `Fit::bits`
  Index residue = 0;        // cells in which the chain differs from the plane
};

struct Fit {
  PlanePtr target;
  /// Returns the description length of a variation; only its `chain` and `from` are set.
  std::function<Index(const Fitted&)> bits;
  /// Chains from which steps may be taken over.
  std::vector<Chain> hints;
  /// About how many chains may be applied.
  Index trials = 2000;
};

/// The few best chains after each number of edits, `start` included, sorted by description length
/// with the residue. Empty only if `start` cannot be applied.
std::vector<Fitted> fitted(const Fit& fit, const Chain& start);

/// The chain applied to an all-open plane; null if a step does not fit the plane.
PlanePtr plane_of(const Chain& chain, const Extent& extent);
/// The steps applied to a mask of a single plane; null if one does not fit.
PlanePtr plane_of(const Mask& from, std::span<const Step> chain);

/// How many chains can be applied to a plane like this one within a short time.
Index affordable_trials(const Plane& plane);

}  // namespace maskctl::recognition
