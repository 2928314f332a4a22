// One rank's part of a call over a mesh: the parts of arrays that it needs, its results, and sums
// over ranks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/ring/rank.h"
#include "maskctl/attention/sharded/placed_array.h"
#include "maskctl/attention/sharded/plan.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// Rank r is device r of the mesh, and has its shard of every array. If the operation itself splits
/// axes (over a ring), the ranks along those mesh axes form the ring, and each has a share of the
/// shard.
class RankCall {
 public:
  /// `arguments` has the arrays of which every rank has the whole (ids, lengths, tables, masks).
  /// `outlines` has the whole shapes of arrays of which a rank has only a part, including
  /// cotangents. Throws Error(kInvalidArgument) unless the mesh has as many devices as `world` has
  /// ranks; also throws what ShardPlan and the operation throw.
  RankCall(const Operation& operation, NamedArguments arguments,
           std::map<std::string, std::vector<Index>> outlines, const Sharding& sharding,
           Communicator& world);
  ~RankCall();

  /// One line for each argument that has no effect.
  std::vector<std::string> warnings() const;
  /// The part that this rank needs of an array in `outlines`.
  ArrayPlace place(const std::string& name) const;
  /// Runs the call on the parts. With a gradient seed, missing cotangents are parts of the random
  /// arrays that a single process would make. Must be called by every rank.
  PlacedResults run(NamedResults parts);
  /// The ring steps of the last run(): forward pass, then backward pass. Empty without a ring.
  const std::vector<RingStep>& steps() const;
  /// The seconds that the passes of the last run() took, including sums of gradients over ranks.
  const CallTimes& times() const;
  /// This rank's shares of the axes that a ring splits.
  const RingPlace& ring() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A part of an array of random numbers, as random_normal() would make it whole, converted to
/// whole.dtype.
Tensor random_part(const RandomOutline& whole, const ArrayPlace& place);

}  // namespace maskctl::attention
