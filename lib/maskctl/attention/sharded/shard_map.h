// Runs an operation once for each shard of a mesh and puts the results together.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/attention/operation.h"
#include "maskctl/attention/sharded/plan.h"

namespace maskctl::attention {

class RankParts;

/// The part of an array that a shard works on; cumulative lengths are counted from 0 again.
Tensor shard_of(const Tensor& whole, std::string_view labels, const Shard& shard);
/// The batches and heads of a mask [B or 1, 1 or Hkv or Hq, Q, K] that a shard works on.
Mask shard_of(const Mask& whole, const Shard& shard);

/// A mesh of devices and what each array is split over. in_specs follow the order of the
/// operation's tensors; missing entries and nullopt follow from the others.
struct Sharding {
  Mesh mesh;
  std::vector<std::optional<PartitionSpec>> in_specs;
  std::vector<PartitionSpec> out_specs;  // for out, then for the array that the operation updates
};

/// One call of an operation on all devices, each of which is a thread of this process and does what
/// a rank does (rank_call.h). What several devices would compute twice is computed once. Equal to
/// the unsharded call up to rounding.
class ShardMap {
 public:
  using Forward = std::function<AnyValue(const void* call)>;
  using Backward =
      std::function<AnyValue(const void* call, const void* output, const Cotangents& d)>;

  /// Checks the specs. The arrays of the call must outlive this.
  /// Throws Error(kInvalidArgument): a number of specs that does not fit, and what ShardPlan
  /// throws.
  ShardMap(const Operation& operation, const void* call, const Sharding& sharding);

  /// `run` gets the call of each device, on its thread, and gives its output. Arrays that the
  /// operation updates are updated in place.
  AnyValue forward(const Forward& run) const;
  /// `run` gives the gradients of each device. Those of an array that several devices read are
  /// summed in f32.
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
  Sharding sharding_;  // over the devices that do not repeat the work of others
};

}  // namespace maskctl::attention
