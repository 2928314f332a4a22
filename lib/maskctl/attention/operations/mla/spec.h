// Registers mla_attention: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/operations/mla/mla.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

struct MlaInputs {
  const Tensor* query = nullptr;
  const Tensor* key_value = nullptr;
  const Tensor* w_kc = nullptr;
  const Tensor* w_vc = nullptr;
};
template <class R, class O>
struct TypesOf<R (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const O&)>
    : CallTypes<MlaInputs, O, R> {
  static auto arrays(const MlaInputs& in) {
    return std::tie(*in.query, *in.key_value, *in.w_kc, *in.w_vc);
  }
};

inline constexpr ResultField kMlaGradients[] = {
    result<&MlaGradients::query>("query"), result<&MlaGradients::key_value>("key_value"),
    result<&MlaGradients::w_kc>("w_kc"),   result<&MlaGradients::w_vc>("w_vc"),
    result<&MlaGradients::b_q>("b_q"),     result<&MlaGradients::b_k>("b_k"),
};

struct FlashMLAOp : FunctionOp<mla_attention, mla_attention_backward> {
  static constexpr std::array kFields = join(
      std::array{
          array<Call, &Inputs::query>("query", "B Tq Hq D", kRequired),
          array<Call, &Inputs::key_value>("key_value", "B Tk R", kRequired),
          array<Call, &Inputs::w_kc>("w_kc", "R Hkv D", kRequired),
          array<Call, &Inputs::w_vc>("w_vc", "R Hkv Dv", kRequired),
          array<Call, &Options::b_q>("b_q", "B Tq P"),
          array<Call, &Options::b_k>("b_k", "B Tk P"),
          array<Call, &Options::cu_seqlens>("cu_seqlens", "B+1|N+1", kIntegers | kCloses),
      },
      pick(kMaskFields<Call, &Options::mask>,
           {"attention_mask",
            "causal",
            {"causal_alignment", "causal_alignment", "", "causal !cu_seqlens"},
            "mask"}),
      pick(kSoftmaxFields<Call, &Options::softmax>,
           {{"softmax_scale", "softmax_scale", "number; 1/sqrt(D + P)"}, "empty_row"}),
      std::array{
          hint<Call, &Options::softmax, &SoftmaxOptions::q_block>("q_blocksize"),
          hint<Call, &Options::softmax, &SoftmaxOptions::k_block>("kv_blocksize"),
      });

  static constexpr Operation kRow = {
      .name = "mla_attention",
      .alias = "flash_mla",
      .summary = "keys and values rebuilt from a latent",
      .outputs = kSoftmaxOutputs,
      .gradients = kMlaGradients,
  };
};

}  // namespace maskctl::attention
