// Registers ring_attention: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

/// A mesh may split the sequences over `axis_name`; the devices along that axis form the ring.
struct RingAttentionOp : FunctionOp<ring_attention, ring_attention_backward> {
  static void check_sharding(const Options& o, const ShardPlan& plan);
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan& plan,
                       OwnedArrays&);

  static constexpr std::array kFields =
      join(kDenseArrays<Call>, kBiasAndSinks<Call>,
           pick(kMaskFields<Call, &Options::mask>, {"attention_mask",
                                                    "q_segment_ids",
                                                    "kv_segment_ids",
                                                    {"causal", "causal", "", "!chunk_size"},
                                                    "sliding_window",
                                                    "causal_block_size",
                                                    "chunk_size",
                                                    "attention_sink_size",
                                                    "segment_padding",
                                                    "mask"}),
           pick(kSoftmaxFields<Call, &Options::softmax>,
                {"softmax_scale",
                 "logits_soft_cap",
                 "empty_row",
                 {"dropout_prob", "pdrop", "", "!deterministic"},
                 {"dropout_seed", "dropout_rng", "", "pdrop !deterministic"}}),
           std::array{
               needing("pdrop", option<Call, &Options::deterministic>(
                                    "deterministic", "true (default): no dropout", kDrops)),
               needing("!mesh", option<Call, &Options::ring_size>("ring_size", "ranks; 1", kParts)),
               needing("ring_size|mesh",
                       choice<Call, &Options::assign>("assign", kAssignWords,
                                                      "which queries each rank has: contiguous "
                                                      "(default), zigzag, striped, cost, balanced",
                                                      kParts)),
               needing("mesh", option<Call, &Options::axis_name>(
                                   "axis_name", "the axis of the mesh that is the ring", kParts)),
               hint<Call, &Options::query_chunk_size>("query_chunk_size", "a hint; 512"),
               hint<Call, &Options::key_chunk_size>("key_chunk_size", "a hint; 512"),
           });

  static constexpr Operation kRow = {
      .name = "ring_attention",
      .summary = "keys and values travel between the ranks of a ring",
      .outputs = kSoftmaxOutputs,
      .gradients = kSoftmaxGradients,
      .cotangents = "out lse",
      .collective = "Tq Tk",
  };
};

}  // namespace maskctl::attention
