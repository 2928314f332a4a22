// The row of attention.
#pragma once

#include "maskctl/attention/operations/attention/attention.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

inline constexpr std::string_view kMaskWithBiasWords[] = {"and", "ignore"};

struct AttentionOp {
  using Inputs = QkvInputs;
  using Options = AttentionOptions;
  using Call = CallOf<Inputs, Options>;
  using Output = AttentionResult;
  using Gradients = SoftmaxGradients;
  using Config = AttentionConfig;
  static const Operation& operation();

  static Output forward(const Inputs& in, const Options& o) {
    return maskctl::attention::attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return attention_backward(*in.query, *in.key, *in.value, out, *d.out, o);
  }
  static void complete(Inputs&, Options& o, OwnedArrays& owned) { make_bias(o, owned); }
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan&, OwnedArrays&) {
    place(shard, o.softmax);
  }

  static constexpr std::array kFields = join(
      kDenseArrays<Call>, kBiasAndSinks<Call>,
      pick(kMaskFields<&Call::options, &Options::mask>,
           {"attention_mask", "causal", "sliding_window", "causal_alignment", "mask", "mask_info"}),
      pick(kSoftmaxFields<&Call::options, &Options::softmax>,
           {"softmax_scale", "logits_soft_cap", "empty_row"}),
      std::array{
          choice<&Call::options, &Options::mask_with_bias>("mask_with_bias", kMaskWithBiasWords,
                                                           "and (default), ignore"),
      },
      pick(kSoftmaxFields<&Call::options, &Options::softmax>,
           {"dropout_prob", {"dropout_seed", "dropout_rng"}}),
      std::array{
          option<&Call::options, &Options::deterministic>("deterministic",
                                                          "true (default): no dropout", kDrops),
      });
};

inline constexpr ResultField kAttentionOutputs[] = {
    result<&AttentionResult::out>("out", "B Tq Hq Dv"),
    result<&AttentionResult::lse>("lse", "B Hq Tq"),
    result<&AttentionResult::weights>("weights", "B Hq Tq Tk"),
};
inline constexpr Operation kAttention = describe<AttentionOp>({
    .name = "attention",
    .summary = "dense attention that returns its weights",
    .fields = AttentionOp::kFields,
    .outputs = kAttentionOutputs,
    .gradients = kSoftmaxGradients,
    .cache_name = "attention",
    .tunes = false,
});
inline const Operation& AttentionOp::operation() { return kAttention; }

}  // namespace maskctl::attention
