// Runs an operation once for each shard of a mesh and puts the results together.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/attention/operation.h"
#include "maskctl/attention/sharded/plan.h"

namespace maskctl::attention {

/// The part of an array that a shard works on; cumulative lengths are counted from 0 again.
Tensor shard_of(const Tensor& whole, std::string_view labels, const Shard& shard);
/// The batches and heads of a mask [B or 1, 1 or Hkv or Hq, Q, K] that a shard works on.
Mask shard_of(const Mask& whole, const Shard& shard);
/// The shard's part of the stored mask, ids and positions; a MaskInfo with neither mask nor ids
/// gets its mask first.
MaskInfo shard_of(const MaskInfo& whole, const Shard& shard);

/// A mesh of simulated devices and what each array is split over. in_specs follow the order of the
/// operation's tensors; missing entries and nullopt follow from the others.
struct Sharding {
  Mesh mesh;
  std::vector<std::optional<PartitionSpec>> in_specs;
  std::vector<PartitionSpec> out_specs;  // for out, then for the array that the operation updates
};

/// An array of a result that is present.
struct ResultArray {
  std::string_view name, axes;
  Tensor* tensor;
};
std::vector<ResultArray> arrays_of(std::span<const ResultField> fields, void* result);

/// One call of an operation on all shards. Arrays are cut along their axes, each part runs on its
/// own without collectives (ring_attention brings its ring), and what several devices would compute
/// twice is computed once. Equal to the unsharded call up to rounding.
class ShardMap {
 public:
  using Forward = std::function<AnyValue(const void* call)>;
  using Backward =
      std::function<AnyValue(const void* call, const void* output, const Cotangents& d)>;

  /// Checks the specs. The arrays of the call must outlive this.
  /// Throws Error(kInvalidArgument): a number of specs that does not fit, and what ShardPlan
  /// throws.
  ShardMap(const Operation& operation, const void* call, const Sharding& sharding);

  std::size_t size() const { return shards_.size(); }

  /// `run` gets the call of each shard and gives its output. Arrays that the operation updates are
  /// updated in place.
  AnyValue forward(const Forward& run) const;
  /// `run` gives the gradients of each shard. Parts of one array that several shards read are
  /// summed in f32.
  AnyValue backward(const void* output, const Cotangents& d, const Backward& run) const;

 private:
  const Field& input(std::string_view name) const;
  AnyValue cut_output(const void* output, const Shard& shard) const;
  Cotangents cut(const void* output, Cotangents whole, const Shard& shard,
                 OwnedArrays& owned) const;

  const Operation& operation_;
  OwnedArrays owned_;
  AnyValue call_;
  ShardPlan plan_;
  std::vector<Shard> shards_;
};

}  // namespace maskctl::attention
