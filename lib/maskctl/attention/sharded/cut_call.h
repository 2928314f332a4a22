// The call of one shard, cut from the whole call; used only by the sharded forms.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

inline constexpr std::string_view kMaskAxes = "B Hq/Hkv Tq Tk";

/// A copy of a call, after Operation::complete() has filled in the arguments that follow from
/// others.
AnyValue completed(const Operation& operation, const void* call, OwnedArrays& owned);

/// Returns the whole shape of an array of the call, which may be a placeholder.
using ShapeOf = std::function<std::vector<Index>(const Tensor& array)>;
/// Makes the plan of a call from its specs. Throws what ShardMap throws.
ShardPlan plan_of(const Operation& operation, const void* call, const Sharding& sharding,
                  const ShapeOf& shape_of);

/// The axes of the output. If they are alternatives ("N Hq D|N 1 Hq D"), each belongs to one
/// alternative of the first input; `rank`, the rank of that input, decides.
std::string_view out_axes(const Operation& operation, const void* call, std::size_t rank);

/// A copy of a completed call whose arrays are replaced by the parts of a shard.
struct CutCall {
  /// An array that the operation updates: `part` is the shard's copy of its part of `whole`.
  struct Update {
    Tensor* whole;
    std::string_view axes;
    Tensor* part;
  };
  /// Maps arrays of the whole call that are not to be cut to the arrays that replace them.
  using Parts = std::map<const Tensor*, const Tensor*>;

  CutCall(const Operation& operation, const void* whole, const Shard& shard, const ShardPlan& plan,
          const Parts& parts = {});

  AnyValue call;
  OwnedArrays owned;
  std::vector<Update> updated;

 private:
  void cut(const Tensor*& array, std::string_view axes, const Shard& shard, const Parts& parts);
  void cut(Tensor*& array, std::string_view axes, const Shard& shard, const Parts& parts);
  void cut(const Mask*& mask, std::string_view axes, const Shard& shard, const Parts& parts);
};

}  // namespace maskctl::attention
