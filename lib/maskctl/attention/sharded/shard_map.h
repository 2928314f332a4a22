// Runs an operation once for each shard of a mesh, and assembles the results.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/attention/calls/operation.h"
#include "maskctl/attention/sharded/plan.h"

namespace maskctl::attention {

class RankParts;

/// The part of an array that a shard works on; cumulative lengths start again from 0.
Tensor shard_of(const Tensor& whole, std::string_view labels, const Shard& shard);
/// The batches and heads that a shard works on, of a mask [B or 1, 1 or Hkv or Hq, Q, K].
Mask shard_of(const Mask& whole, const Shard& shard);

/// A mesh of devices, and how each array is split over it. in_specs has the order of the
/// operation's arrays; missing and nullopt entries are derived from the others.
struct Sharding {
  Mesh mesh;
  std::vector<std::optional<PartitionSpec>> in_specs;
  std::vector<PartitionSpec> out_specs;  // for out, then for the array that is updated in place
};

/// A call on all devices of a mesh. Each device is a thread of this process that does the work of
/// one rank (rank_call.h). Devices that would compute the same shard do so only once. The result is
/// that of the unsharded call, up to rounding.
class ShardMap {
 public:
  using Forward = std::function<AnyValue(const void* call)>;
  using Backward =
      std::function<AnyValue(const void* call, const void* output, const Cotangents& d)>;

  /// Checks the specs. The arrays of the call must outlive this object. Throws
  /// Error(kInvalidArgument) for a wrong number of specs, and what ShardPlan throws.
  ShardMap(const Operation& operation, const void* call, const Sharding& sharding);

  /// `run` is called on the thread of each device with the call of that device, and returns its
  /// output. Arrays that the operation updates are updated in place.
  AnyValue forward(const Forward& run) const;
  /// `run` returns the gradients of each device. Gradients of an array that several devices read
  /// are summed in f32.
  AnyValue backward(const void* output, const Cotangents& d, const Backward& run) const;

 private:
  struct OfRank;
  std::vector<OfRank> on_ranks(const std::function<void(RankParts&, OfRank&)>& work) const;
  AnyValue put_together(std::span<const ResultField> fields,
                        const std::vector<OfRank>& ranks) const;
  void update(const std::vector<OfRank>& ranks) const;
  AnyValue cut_output(const void* output, const RankParts& rank) const;
  Cotangents cut(const void* output, Cotangents whole, const RankParts& rank,
                 OwnedArrays& owned) const;

  const Operation& operation_;
  OwnedArrays owned_;
  AnyValue call_;
  Sharding sharding_;  // over a mesh without redundant devices
};

}  // namespace maskctl::attention
