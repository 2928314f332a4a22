// One rank among those that share a call: its parts of arrays, and sums over the ranks; private to
// the sharded forms.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "maskctl/attention/ring/communicator.h"
#include "maskctl/attention/sharded/cut_call.h"
#include "maskctl/attention/sharded/placed_array.h"

namespace maskctl::attention {

class RankParts {
 public:
  /// The call is completed; it, `shape_of` and the world must outlive this. Throws what plan_of
  /// throws, and Error(kInvalidArgument) unless the mesh has a device for each rank of the world.
  RankParts(const Operation& operation, const void* call, const Sharding& sharding,
            ShapeOf shape_of, Communicator& world);
  RankParts(const RankParts&) = delete;
  RankParts& operator=(const RankParts&) = delete;

  /// What this rank has of the axes that its ring shares; nothing without a ring.
  RingPlace& ring() { return ring_place_; }
  const Field& input(std::string_view name) const;

  /// The part of an input, and of an output or its cotangent; shapes are those of the whole.
  ArrayPlace place(const Field& input, std::span<const Index> shape) const;
  ArrayPlace place(const ResultField& output, std::span<const Index> shape) const;
  /// The shape of the whole output of which this rank has a part.
  std::vector<Index> whole_shape(const ResultArray& output) const;

  /// The call of this rank. `given` are the parts of arrays that it has already; others are cut
  /// from the whole.
  CutCall cut(const CutCall::Parts& given) const;

  // Results of that call, which are moved from. Gradients have the names of their inputs; ranks
  // with equal parts of an input add up what they give to it, which every rank of the world calls.
  PlacedResults outputs(void* output) const;
  PlacedResults updated(CutCall& call) const;
  PlacedResults gradients(void* gradients);

 private:
  bool in_ring(const Field& input) const;
  ArrayPlace place(std::string_view axes, std::span<const Index> shape, bool in_ring) const;
  PlacedArray placed(std::string_view axes, std::vector<Index> shape, Tensor part,
                     bool in_ring) const;
  bool shares_part(Index device, std::string_view axes, std::span<const Index> shape,
                   bool in_ring) const;
  bool contributes(Index device) const;
  void sum(std::string_view axes, std::span<const Index> shape, bool in_ring, Tensor& gradient);
  Tensor sum_of(const std::vector<Index>& givers, const Tensor& own, DType dtype);

  const Operation& operation_;
  const void* call_;
  ShapeOf shape_of_;
  Communicator& world_;
  ShardPlan plan_;
  Index rank_;
  Shard shard_;
  std::unique_ptr<Communicator> ring_;
  RingPlace ring_place_;
};

}  // namespace maskctl::attention
