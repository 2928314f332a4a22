// Registers scaled_dot_product_attention: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/operations/sdpa/sdpa.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

struct ScaledDotProductAttentionOp
    : FunctionOp<scaled_dot_product_attention, scaled_dot_product_attention_backward> {
  static void complete(Inputs&, Options& o, OwnedArrays& owned) { make_bias(o, owned); }

  static constexpr std::array kFields =
      join(kDenseArrays<Call>, pick(kBiasAndSinks<Call>, {"bias"}),
           pick(kMaskFields<Call, &Options::mask>,
                {"query_lengths", "key_lengths", "attention_mask", "causal", "sliding_window",
                 "causal_alignment", "mask"}),
           pick(kSoftmaxFields<Call, &Options::softmax>, {"softmax_scale", "empty_row"}));

  static constexpr Operation kRow = {
      .name = "scaled_dot_product_attention",
      .summary = "the baseline",
      .outputs = kSoftmaxOutputs,
      .gradients = std::span(kSoftmaxGradients).first<4>(),  // all but the last, that of the sinks
  };
};

}  // namespace maskctl::attention
