#include "maskctl/kernels/grouped_matmul/spec.h"

#include <algorithm>

#include "maskctl/attention/ring/assign.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/attention/sharded/plan.h"
#include "maskctl/kernels/grouped_matmul/checked.h"
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

namespace {

/// For each row of a shard, the matrix of rhs that multiplies it, or -1 if there is none.
std::vector<Index> groups_of_rows(const GroupedMatmulInputs& in, Index rows, Index groups) {
  // Uses arrays of the same shapes without elements, because the groups do not depend on elements.
  const Tensor lhs(DType::kFloat32, {rows, 0}), rhs(DType::kFloat32, {groups, 0, 0});
  GroupedMatmulInputs outline = in;
  outline.lhs = &lhs, outline.rhs = &rhs, outline.existing_out = nullptr;
  std::vector<Index> group_of(as_size(rows), -1);
  for_each_row(checked_grouped(outline, {}).groups,
               [&](Index group, Index row) { group_of[as_size(row)] = group; });
  return group_of;
}

/// Gives each rank of a ring an equal share of the groups, and the rows of those groups. The last
/// rank also gets the rows that belong to no group.
void share_groups(GroupedMatmulInputs& in, const Shard& shard, Index parts, OwnedArrays& owned) {
  RingPlace& own = *shard.ring;
  const Index groups = shard.extent("G"), rank = own.ring->rank();
  const Range rows = shard.range("M"), mine = part_of(groups, parts, rank);
  const std::vector<Index> group_of = groups_of_rows(in, rows.size(), groups);
  std::vector<std::int32_t> ids;
  std::vector<Range> held;
  for (Index row = 0; row < rows.size(); ++row) {
    const Index group = group_of[as_size(row)], index = rows.begin + row;
    const bool has = mine.begin <= group && group < mine.end;
    if (!has && (group >= 0 || rank + 1 < parts)) continue;
    ids.push_back(static_cast<std::int32_t>(has ? group - mine.begin : mine.size()));
    if (held.empty() || held.back().end != index) held.push_back({index, index});
    ++held.back().end;
  }
  Tensor local(DType::kInt32, {std::ssize(ids)});
  std::ranges::copy(ids, local.as<std::int32_t>().begin());
  in.group_sizes = nullptr;
  in.group_ids = &owned.tensors.emplace_back(std::move(local));
  // An offset is given, though it is 0, because then ids may belong to groups that rhs lacks.
  in.group_offset = owned.keep(Tensor(DType::kInt32, {1}));
  own.arrays = {"lhs", "rhs", "existing_out"};
  own.shares["M"] = std::move(held), own.shares["G"] = {mine};
}

/// Replaces group_sizes by the number of rows that each group has within the shard.
void cut_sizes(GroupedMatmulInputs& in, const Shard& shard, OwnedArrays& owned) {
  const Range rows = shard.range("M");
  std::vector<std::int32_t> sizes = as_int32(*in.group_sizes, "group_sizes");
  Index begin = 0;
  for (std::int32_t& size : sizes) {
    const Range group = intersect({begin, begin + size}, rows);
    begin += size;
    size = static_cast<std::int32_t>(group.size());
  }
  // Sizes that sum to too much are left unchanged, so that the operation reports them.
  if (begin > shard.extents.at("M")) return;
  Tensor local(DType::kInt32, in.group_sizes->shape());
  std::ranges::copy(sizes, local.as<std::int32_t>().begin());
  in.group_sizes = &owned.tensors.emplace_back(std::move(local));
}

}  // namespace

void GroupedMatmulOp::localise(GroupedMatmulInputs& in, Options& o, const Shard& shard,
                               const ShardPlan& plan, OwnedArrays& owned) {
  if (in.group_sizes && shard.splits("M")) cut_sizes(in, shard, owned);
  o.group_parts = shard.ring ? 1 : plan.parts("G");
  if (shard.ring) share_groups(in, shard, plan.parts("G"), owned);
}

}  // namespace maskctl::attention
