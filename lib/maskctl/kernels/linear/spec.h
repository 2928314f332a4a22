// Registers the linear family: recurrent, gated and lightning attention, and the delta rule.
#pragma once

#include <utility>

#include "maskctl/attention/calls/fields.h"
#include "maskctl/kernels/linear/gated_delta_rule.h"
#include "maskctl/kernels/linear/recurrent.h"

namespace maskctl::attention {

template <class Call>
inline constexpr std::array kLinearQkv = {
    array<Call, &Call::Inputs::query>("query", "B T Hq K", kRequired),
    array<Call, &Call::Inputs::key>("key", "B T Hkv K", kRequired | kByRows),
    array<Call, &Call::Inputs::value>("value", "B T Hkv V", kRequired | kByRows),
};
/// Log decays: g per token and head (and key channel), g_gamma per head.
template <class Call>
inline constexpr std::array kLinearGates = {
    array<Call, &Call::Inputs::g>("g", "B T Hq K|B T Hq", kLogDecay),
    array<Call, &Call::Inputs::g_gamma>("g_gamma", "Hq", kLogDecay),
};
template <class Call>
inline constexpr std::array kLinearState = {
    array<Call, &Call::Inputs::initial_state>("initial_state", "B Hq K V"),
    array<Call, &Call::Inputs::cu_seqlens>("cu_seqlens", "N+1", kIntegers),
};
template <class Call>
inline constexpr std::array kLinearOptions = {
    option<Call, &RecurrentAttentionOptions::softmax_scale>("softmax_scale", "number; 1/sqrt(K)"),
    option<Call, &RecurrentAttentionOptions::reverse>("reverse", "true, false (default)"),
    option<Call, &RecurrentAttentionOptions::return_state>("return_state", "true, false (default)"),
    hint<Call, &RecurrentAttentionOptions::chunk_size>("chunk_size"),
};
inline constexpr ResultField kLinearOutputs[] = {
    result<&LinearAttentionResult::out>("out", "B T Hq V"),
    result<&LinearAttentionResult::final_state>("final_state", "B Hq K V"),
};
inline constexpr std::string_view kStateNotReset = "the state not reset";
/// The gradients of the linear family, named like the inputs.
inline constexpr ResultField kRecurrentGradients[] = {
    result<&LinearAttentionGradients::query>("query"),
    result<&LinearAttentionGradients::key>("key"),
    result<&LinearAttentionGradients::value>("value"),
    result<&LinearAttentionGradients::initial_state>("initial_state"),
    result<&LinearAttentionGradients::g>("g"),
    result<&LinearAttentionGradients::g_gamma>("g_gamma"),
    result<&LinearAttentionGradients::gk>("gk"),
    result<&LinearAttentionGradients::gv>("gv"),
};
inline constexpr std::span kGlaGradients = std::span(kRecurrentGradients).first<6>();
inline constexpr std::span kLightningGradients = std::span(kRecurrentGradients).first<4>();

inline constexpr ResultField kDeltaGradients[] = {
    result<&GatedDeltaRuleGradients::query>("query"),
    result<&GatedDeltaRuleGradients::key>("key"),
    result<&GatedDeltaRuleGradients::value>("value"),
    result<&GatedDeltaRuleGradients::beta>("beta"),
    result<&GatedDeltaRuleGradients::g>("g"),
    result<&GatedDeltaRuleGradients::initial_state>("initial_state"),
};

struct RecurrentAttentionOp : FunctionOp<recurrent_attention, recurrent_attention_backward> {
  static void complete(Inputs& in, Options& o, OwnedArrays&) {
    if (!in.state || in.initial_state) return;
    in.initial_state = std::exchange(in.state, nullptr);
    o.return_state = true;
  }

  static constexpr std::array kFields =
      join(kLinearQkv<Call>, kLinearGates<Call>,
           std::array{
               array<Call, &Inputs::gk>("gk", "B T Hq K", kLogDecay),
               array<Call, &Inputs::gv>("gv", "B T Hq V", kLogDecay),
           },
           kLinearState<Call>, std::array{array<Call, &Inputs::state>("state", "B Hq K V")},
           pick(kLinearOptions<Call>, {"softmax_scale",
                                       "reverse",
                                       {"return_state", "return_state", "", "!state"},
                                       "chunk_size"}));

  static constexpr Operation kRow = {
      .name = "recurrent_attention",
      .alias = "recurrent",
      .summary = "linear attention as a recurrence, state in and out",
      .outputs = kLinearOutputs,
      .gradients = kRecurrentGradients,
      .cotangents = "out final_state",
      .over_borders = kStateNotReset,
  };
};

struct GLAttentionOp : FunctionOp<gla_attention, gla_attention_backward> {
  static void complete(Inputs& in, Options&, OwnedArrays&) {
    if (in.gate && !in.g) in.g = std::exchange(in.gate, nullptr);
  }

  static constexpr std::array kFields =
      join(kLinearQkv<Call>, kLinearGates<Call>, kLinearState<Call>,
           std::array{array<Call, &Inputs::gate>("gate", "B T Hq K|B T Hq", kLogDecay)},
           kLinearOptions<Call>);

  static constexpr Operation kRow = {
      .name = "gla_attention",
      .alias = "gla",
      .summary = "linear attention with gates, O(T)",
      .outputs = kLinearOutputs,
      .gradients = kGlaGradients,
      .cotangents = "out final_state",
      .over_borders = kStateNotReset,
  };
};

struct LightningAttentionOp : FunctionOp<lightning_attention, lightning_attention_backward> {
  /// Computes the decays here, before a mesh splits the heads: they depend on the total number of
  /// heads.
  static void complete(Inputs& in, Options& o, OwnedArrays& owned) {
    if (in.decay || !o.layer_idx || !o.num_layers || in.query->rank() != 4) return;
    in.decay = &owned.tensors.emplace_back(
        lightning_decay(in.query->extent(2), *o.layer_idx, *o.num_layers));
    o.layer_idx = o.num_layers = std::nullopt;
  }

  /// Uses the decays of layer 0 of 12.
  static UsualCall usual_call(AxisExtents extents) {
    Tensor decay = lightning_decay(extents.at("Hq"), 0, 12);
    return {std::move(extents), {{"decay", std::move(decay)}}};
  }

  static constexpr std::array kFields =
      join(kLinearQkv<Call>, kLinearState<Call>,
           std::array{
               array<Call, &Inputs::decay>("decay", "Hq|", kLogDecay),
               option<Call, &Options::layer_idx>("layer_idx",
                                                 "number of the layer, from 0; gives the decay"),
               option<Call, &Options::num_layers>("num_layers", "whole number above layer_idx"),
           },
           kLinearOptions<Call>);

  static constexpr Operation kRow = {
      .name = "lightning_attention",
      .alias = "lightning_attn",
      .summary = "linear attention with one decay per head, O(T)",
      .outputs = kLinearOutputs,
      .gradients = kLightningGradients,
      .cotangents = "out final_state",
      .over_borders = kStateNotReset,
  };
};

struct GatedDeltaRuleOp : FunctionOp<gated_delta_rule, gated_delta_rule_backward> {
  static constexpr std::array kFields = join(
      std::array{array<Call, &Inputs::query>("query", "B T Hkv K", kRequired),
                 array<Call, &Inputs::key>("key", "B T Hkv K", kRequired | kByRows | kUnit),
                 array<Call, &Inputs::value>("value", "B T Hq V", kRequired | kByRows),
                 array<Call, &Inputs::beta>("beta", "B T Hq", kRequired | kShare),
                 array<Call, &Inputs::g>("g", "B T Hq", kLogDecay)},
      kLinearState<Call>,
      std::array{option<Call, &Options::softmax_scale>("softmax_scale", "number; 1/sqrt(K)"),
                 option<Call, &Options::return_state>("return_state", "true, false (default)")});

  static constexpr Operation kRow = {
      .name = "gated_delta_rule",
      .summary = "linear attention that forgets a key before it writes it, O(T)",
      .outputs = kLinearOutputs,
      .gradients = kDeltaGradients,
      .cotangents = "out final_state",
      .over_borders = kStateNotReset,
      .on_gpu = false,
  };
};

}  // namespace maskctl::attention
