#include "maskctl/attention/operations/ring/spec.h"

#include "maskctl/attention/ring/shard.h"
#include "maskctl/attention/sharded/dropout.h"
#include "maskctl/attention/sharded/plan.h"

namespace maskctl::attention {

void RingAttentionOp::check_sharding(const Options& o, const ShardPlan& plan) {
  const bool whole = plan.axes_of("Tq").empty() && plan.axes_of("Tk").empty();
  if (o.axis_name.empty() && whole) return;  // each device has whole sequences: a ring of one
  for (const char* axis : {"Tq", "Tk"}) plan.check_split(axis, "axis_name", o.axis_name);
}

void RingAttentionOp::localise(Inputs&, Options& o, const Shard& shard, const ShardPlan& plan,
                               OwnedArrays&) {
  set_dropout_origin(shard, o.softmax);
  o.ring_size = plan.parts("Tq");
  if (!shard.ring) return;
  RingPlace& own = *shard.ring;
  Dims whole;
  whole.batch = shard.range("B").size(), whole.q_heads = shard.range("Hq").size();
  whole.kv_heads = shard.range("Hkv").size();
  whole.queries = shard.extents.at("Tq"), whole.keys = shard.extents.at("Tk");
  own.arrays = {"query", "key", "value"};
  own.shares["Tq"] = ring_shares(o, whole, o.ring_size)[as_size(own.ring->rank())];
  own.shares["Tk"] = {part_of(whole.keys, o.ring_size, own.ring->rank())};
  o.ring = own.ring;
  o.steps = own.steps;
  o.all_queries = whole.queries;
}

}  // namespace maskctl::attention
