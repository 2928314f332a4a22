// One rank's part of a call over a mesh: what it needs of each array, its results, and their sums.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/ring/rank.h"
#include "maskctl/attention/sharded/placed_array.h"
#include "maskctl/attention/sharded/plan.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// Ranks are the devices of the mesh, in their order. Each holds its shard of every array. Ranks
/// along the axes that an operation splits by a ring form that ring, and hold their shares of the
/// shard.
class RankCall {
 public:
  /// `arguments` has the arrays that every rank has whole (ids, lengths, tables, masks); `outlines`
  /// the shapes of arrays of which a rank has only a part, cotangents among them. Throws
  /// Error(kInvalidArgument) unless the mesh has a device for each rank of `world`, and what
  /// ShardPlan and the operation throw.
  RankCall(const Operation& operation, NamedArguments arguments,
           std::map<std::string, std::vector<Index>> outlines, const Sharding& sharding,
           Communicator& world);
  ~RankCall();

  /// Arguments that change nothing, one line each.
  std::vector<std::string> warnings() const;
  /// The part that this rank needs of an outlined array.
  ArrayPlace place(const std::string& name) const;
  /// Runs the call on the parts. With a seed for gradients, missing cotangents are parts of the
  /// random ones that one process would make. Every rank of the world calls it.
  PlacedResults run(NamedResults parts);
  /// The ring steps of the last run, forward passes before backward passes; empty without a ring.
  const std::vector<RingStep>& steps() const;
  /// Seconds of the passes of the last run, sums of gradients over ranks included.
  const CallTimes& times() const;
  /// What this rank has of the axes that a ring shares.
  const RingPlace& ring() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The part of an array of normal random numbers, in a floating dtype.
Tensor random_part(const RandomOutline& whole, const ArrayPlace& place);

}  // namespace maskctl::attention
