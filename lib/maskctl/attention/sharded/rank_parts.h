// One rank of a call over a mesh: its parts of arrays, and sums over the ranks. Used only by the
// sharded forms.
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
  /// `call` must be completed. The call, what `shape_of` refers to, and `world` must outlive this
  /// object. Throws what plan_of throws, and Error(kInvalidArgument) unless the mesh has as many
  /// devices as `world` has ranks.
  RankParts(const Operation& operation, const void* call, const Sharding& sharding,
            ShapeOf shape_of, Communicator& world);
  RankParts(const RankParts&) = delete;
  RankParts& operator=(const RankParts&) = delete;

  /// This rank's shares of the axes that its ring splits; empty without a ring.
  RingPlace& ring() { return ring_place_; }
  const Field& input(std::string_view name) const;

  /// The part of an input, or of an output (or its cotangent), that this rank has; `shape` is the
  /// whole shape.
  ArrayPlace place(const Field& input, std::span<const Index> shape) const;
  ArrayPlace place(const ResultField& output, std::span<const Index> shape) const;
  /// The whole shape of an output of which this rank has a part.
  std::vector<Index> whole_shape(const ResultArray& output) const;

  /// The call of this rank. `given` has the parts of arrays that the rank has already; other parts
  /// are cut from the whole arrays.
  CutCall cut(const CutCall::Parts& given) const;

  // The results of this rank's call, which are moved out of it. Gradients are named like their
  // inputs. Ranks that have the same part of an input add up their gradients of it, so every rank
  // must call gradients().
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
