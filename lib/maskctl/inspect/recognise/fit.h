// Searches for a chain of steps that makes a plane, by changing a given chain: sets numbers to
// where rows of the plane begin or end, and adds and removes steps, or takes steps of other chains,
// as long as the description gets shorter; private to inspect.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"
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

/// What came out when chains were applied, to be compared with one plane: searches from several
/// chains meet the same variations, and apply each once.
class ChainTrials {
 public:
  struct Trial {
    Index residue = -1;  // cells in which the chain differs from the plane; -1: a step does not fit
    Index weight = 0;    // weight_of() the plane that the chain makes
  };
  explicit ChainTrials(const PlanePtr& target) : target_(target), off_(target) {}

  const PlanePtr& target() const { return target_; }
  /// The trial of a chain that takes `bits`. `made()` applies it, or returns null if a step does
  /// not fit.
  Trial of(const Chain& chain, Index bits, const std::function<PlanePtr()>& made);

 private:
  PlanePtr target_;
  DifferingCells off_;
  std::unordered_map<Index, std::vector<std::pair<Chain, Trial>>> known_;  // by their bits
};

struct Fit {
  /// Holds the plane to which chains are fitted.
  ChainTrials& tried;
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
