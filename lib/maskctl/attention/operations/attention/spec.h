// Registers attention: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/operations/attention/attention.h"
#include "maskctl/attention/sharded/dropout.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

inline constexpr std::string_view kMaskWithBiasWords[] = {"and", "ignore"};

inline constexpr ResultField kAttentionOutputs[] = {
    result<&AttentionResult::out>("out", "B Tq Hq Dv"),
    result<&AttentionResult::lse>("lse", "B Hq Tq"),
    result<&AttentionResult::weights>("weights", "B Hq Tq Tk"),
};

struct AttentionOp : FunctionOp<maskctl::attention::attention, attention_backward> {
  static void complete(Inputs&, Options& o, OwnedArrays& owned) { make_bias(o, owned); }
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan&, OwnedArrays&) {
    set_dropout_origin(shard, o.softmax);
  }

  static constexpr std::array kFields =
      join(kDenseArrays<Call>, kBiasAndSinks<Call>,
           pick(kMaskFields<Call, &Options::mask>,
                {{"attention_mask", "attention_mask", "", "!bias|!mask_with_bias"},
                 "causal",
                 "sliding_window",
                 "causal_alignment",
                 {"mask", "mask", "", "!bias|!mask_with_bias"}}),
           pick(kSoftmaxFields<Call, &Options::softmax>,
                {"softmax_scale", "logits_soft_cap", "empty_row"}),
           std::array{
               needing("bias attention_mask|mask",
                       choice<Call, &Options::mask_with_bias>("mask_with_bias", kMaskWithBiasWords,
                                                              "and (default), ignore", kCloses)),
           },
           pick(kSoftmaxFields<Call, &Options::softmax>,
                {{"dropout_prob", "dropout_prob", "", "!deterministic"},
                 {"dropout_seed", "dropout_rng", "", "dropout_prob !deterministic"}}),
           std::array{
               needing("dropout_prob", option<Call, &Options::deterministic>(
                                           "deterministic", "true (default): no dropout", kDrops)),
           });

  static constexpr Operation kRow = {
      .name = "attention",
      .summary = "dense attention that returns its weights",
      .outputs = kAttentionOutputs,
      .gradients = kSoftmaxGradients,
  };
};

}  // namespace maskctl::attention
