// Registers flash_attention: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/operations/flash/flash.h"
#include "maskctl/attention/sharded/dropout.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

struct FlashAttentionOp : FunctionOp<flash_attention, flash_attention_backward> {
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan&, OwnedArrays&) {
    set_dropout_origin(shard, o.softmax);
  }

  static constexpr std::array kFields =
      join(kDenseArrays<Call>, kBiasAndSinks<Call>,
           pick(kMaskFields<Call, &Options::mask>,
                {"cum_seqlens_q", "cum_seqlens_k", "attention_mask", "q_segment_ids",
                 "kv_segment_ids", "causal", "sliding_window", "causal_alignment", "mask"}),
           pick(kSoftmaxFields<Call, &Options::softmax>,
                {"softmax_scale", "logits_soft_cap", "empty_row", "normalize_output",
                 "dropout_prob", "dropout_seed", "q_blocksize", "kv_blocksize"}));

  static constexpr Operation kRow = {
      .name = "flash_attention",
      .summary = "exact attention in O(T) memory",
      .outputs = kSoftmaxOutputs,
      .gradients = kSoftmaxGradients,
      .cotangents = "out lse",
  };
};

}  // namespace maskctl::attention
