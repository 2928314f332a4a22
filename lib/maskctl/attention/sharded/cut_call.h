// The call of one shard, cut from the whole; private to the sharded forms.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "maskctl/attention/fields.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

inline constexpr std::string_view kMaskAxes = "B Hq/Hkv Tq Tk";

/// A copy of a call in which Operation::complete has made what follows from other arguments.
AnyValue completed(const Operation& operation, const void* call, OwnedArrays& owned);

/// The whole shape of an array of the call.
using ShapeOf = std::function<std::vector<Index>(const Tensor& array)>;
/// Throws what ShardMap throws.
ShardPlan plan_of(const Operation& operation, const void* call, const Sharding& sharding,
                  const ShapeOf& shape_of);

/// The axes of the output. Where there are alternatives ("N Hq D|N 1 Hq D"), those with the number
/// of the alternative that has this rank among the first array's.
std::string_view out_axes(const Operation& operation, const void* call, std::size_t rank);

/// A copy of a completed call whose arrays are cut.
struct CutCall {
  /// An array that the operation updates: `part` is the shard's part of `whole`.
  struct Update {
    Tensor* whole;
    std::string_view axes;
    Tensor* part;
  };
  /// Arrays that replace arrays of the whole call, instead of parts cut from them.
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
