#include "maskctl/attention/operations/blocksparse/spec.h"

#include "maskctl/attention/ring/assign.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/attention/sharded/plan.h"

namespace maskctl::attention {

void BlockSparseAttentionOp::check_sharding(const Options& o, const ShardPlan& plan) {
  if (plan.axes_of("Tq").empty()) return;
  plan.check_split("Tq", "sequence_parallelism_mesh_axis_name",
                   o.sequence_parallelism_mesh_axis_name);
}

void BlockSparseAttentionOp::localise(Inputs&, Options& o, const Shard& shard,
                                      const ShardPlan& plan, OwnedArrays&) {
  o.sequence_parts = plan.parts("Tq");
  if (shard.ring) {
    o.sequence_part = shard.ring->ring->rank();
    shard.ring->arrays = {"query"};
    shard.ring->shares["Tq"] = {
        part_of(shard.extents.at("Tq"), o.sequence_parts, *o.sequence_part)};
  }
  if (!shard.splits("Hq")) return;
  const Range heads = shard.range("Hq");
  if (o.static_mask && o.static_mask->heads() > 1) {
    const Mask& all = *o.static_mask;
    o.static_mask = std::make_shared<const Mask>(
        sliced(all, {0, all.batch()}, heads, {0, all.queries()}, {0, all.keys()}));
  }
  if (!o.mask_builder) return;
  o.mask_builder = [whole = o.mask_builder, heads, count = shard.extents.at("Hq")](
                       Index q_len, Index kv_len, Index, Index head, Index reps) {
    return whole(q_len, kv_len, count, heads.begin + head, reps);
  };
}

}  // namespace maskctl::attention
