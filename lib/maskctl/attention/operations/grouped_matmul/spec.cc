#include "maskctl/attention/operations/grouped_matmul/spec.h"

#include <algorithm>

#include "maskctl/attention/sharded/plan.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

UsualCall GroupedMatmulOp::usual_call(AxisExtents extents) {
  const Index groups = extents.at("G"), rows = extents.at("M");
  Tensor sizes(DType::kInt32, {groups});
  Index begin = 0;
  for (Index g = 0; g < groups; ++g) {
    const Index end = (g + 1) * rows / groups;
    sizes.as<std::int32_t>()[as_size(g)] = static_cast<std::int32_t>(end - begin);
    begin = end;
  }
  return {std::move(extents), {{"group_sizes", std::move(sizes)}}};
}

void GroupedMatmulOp::localise(Inputs& in, Options& o, const Shard& shard, const ShardPlan& plan,
                               OwnedArrays& owned) {
  o.group_parts = plan.parts("G");
  if (!in.group_sizes || !shard.splits("M")) return;
  const Range rows = shard.range("M");
  std::vector<std::int32_t> sizes = as_int32(*in.group_sizes, "group_sizes");
  Index begin = 0;
  for (std::int32_t& size : sizes) {
    const Range group = intersect({begin, begin + size}, rows);
    begin += size;
    size = static_cast<std::int32_t>(group.size());
  }
  // Sizes that do not fit stay as they are, for the operation to refuse.
  if (begin > shard.extents.at("M")) return;
  Tensor local(DType::kInt32, in.group_sizes->shape());
  std::ranges::copy(sizes, local.as<std::int32_t>().begin());
  in.group_sizes = &owned.tensors.emplace_back(std::move(local));
}

}  // namespace maskctl::attention
