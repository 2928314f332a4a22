// The row of scaled_dot_product_attention.
#pragma once

#include "maskctl/attention/operations/sdpa/sdpa.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

struct ScaledDotProductAttentionOp {
  using Inputs = QkvInputs;
  using Options = ScaledDotProductAttentionOptions;
  using Call = CallOf<Inputs, Options>;
  using Output = SoftmaxResult;
  using Gradients = SoftmaxGradients;
  using Config = ScaledDotProductAttentionConfig;
  static const Operation& operation();

  static Output forward(const Inputs& in, const Options& o) {
    return scaled_dot_product_attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return scaled_dot_product_attention_backward(*in.query, *in.key, *in.value, out, *d.out, o);
  }
  static void complete(Inputs&, Options& o, OwnedArrays& owned) { make_bias(o, owned); }

  static constexpr std::array kFields =
      join(kDenseArrays<Call>, pick(kBiasAndSinks<Call>, {"bias"}),
           pick(kMaskFields<&Call::options, &Options::mask>,
                {"query_lengths", "key_lengths", "attention_mask", "causal", "sliding_window",
                 "causal_alignment", "mask", "mask_info"}),
           pick(kSoftmaxFields<&Call::options, &Options::softmax>, {"softmax_scale", "empty_row"}));
};

inline constexpr Operation kScaledDotProductAttention = describe<ScaledDotProductAttentionOp>({
    .name = "scaled_dot_product_attention",
    .summary = "the baseline",
    .fields = ScaledDotProductAttentionOp::kFields,
    .outputs = kSoftmaxOutputs,
    .gradients = kSoftmaxGradients,
    .cache_name = "sdpa",
    .tunes = false,
});
inline const Operation& ScaledDotProductAttentionOp::operation() {
  return kScaledDotProductAttention;
}

}  // namespace maskctl::attention
