// The rows of the linear family: recurrent, gated and lightning attention.
#pragma once

#include "maskctl/attention/fields.h"
#include "maskctl/attention/operations/linear/gla.h"
#include "maskctl/attention/operations/linear/lightning.h"
#include "maskctl/attention/operations/linear/recurrent.h"

namespace maskctl::attention {

/// What the three share. The tokens of a chunk are block_q of a config.
template <class C>
struct LinearOp {
  using Config = C;
  using Output = LinearAttentionResult;
  using Gradients = LinearAttentionGradients;

  template <class Inputs, class Options>
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index tokens : {32, 48, 96}) candidates.push_back({.block_q = tokens});
    return candidates;
  }
};

template <class Call>
inline constexpr std::array kLinearQkv = {
    array<&Call::in, &Call::Inputs::query>("query", "B T Hq K", kRequired),
    array<&Call::in, &Call::Inputs::key>("key", "B T Hkv K", kRequired | kByRows),
    array<&Call::in, &Call::Inputs::value>("value", "B T Hkv V", kRequired | kByRows),
};
template <class Call>
inline constexpr std::array kLinearState = {
    array<&Call::in, &Call::Inputs::initial_state>("initial_state", "B Hq K V"),
    array<&Call::in, &Call::Inputs::cu_seqlens>("cu_seqlens", "N+1", kIntegers),
};
template <class Call>
inline constexpr std::array kLinearOptions = {
    option<&Call::options, &RecurrentAttentionOptions::softmax_scale>("softmax_scale",
                                                                      "number; 1/sqrt(K)"),
    option<&Call::options, &RecurrentAttentionOptions::reverse>("reverse", "true, false (default)"),
    option<&Call::options, &RecurrentAttentionOptions::return_state>("return_state",
                                                                     "true, false (default)"),
    hint<&Call::options, &RecurrentAttentionOptions::chunk_size>("chunk_size", "block_q"),
};
inline constexpr ResultField kLinearOutputs[] = {
    result<&LinearAttentionResult::out>("out", "B T Hq V"),
    result<&LinearAttentionResult::final_state>("final_state", "B Hq K V"),
};
/// Gradients of an operation, whose arguments have those names.
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

struct RecurrentAttentionOp : LinearOp<RecurrentAttentionConfig> {
  using Inputs = RecurrentAttentionInputs;
  using Options = RecurrentAttentionOptions;
  using Call = CallOf<Inputs, Options>;

  static Output forward(const Inputs& in, const Options& o) { return recurrent_attention(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return recurrent_attention_backward(in, *d.out, o, d.final_state);
  }
  static void complete(Inputs& in, Options& o, OwnedArrays&) {
    if (!in.state || in.initial_state) return;
    in.initial_state = std::exchange(in.state, nullptr);
    o.return_state = true;
  }

  static constexpr std::array kFields =
      join(kLinearQkv<Call>,
           std::array{
               array<&Call::in, &Inputs::g>("g", "B T Hq K|B T Hq"),
               array<&Call::in, &Inputs::g_gamma>("g_gamma", "Hq"),
               array<&Call::in, &Inputs::gk>("gk", "B T Hq K"),
               array<&Call::in, &Inputs::gv>("gv", "B T Hq V"),
           },
           kLinearState<Call>,
           std::array{
               array<&Call::in, &Inputs::state>("state", "B Hq K V"),
           },
           kLinearOptions<Call>);

  static constexpr Operation kRow = {
      .name = "recurrent_attention",
      .id = "recurrent",
      .summary = "linear attention as a recurrence, state in and out",
      .fields = kFields,
      .outputs = kLinearOutputs,
      .gradients = kRecurrentGradients,
      .cotangents = "out final_state",
      .cache_name = "recurrent",
      .version = "1",
      .splittable = "B Hq Hkv",
  };
};

struct GLAttentionOp : LinearOp<GLAttentionConfig> {
  using Inputs = GlaAttentionInputs;
  using Options = GlaAttentionOptions;
  using Call = CallOf<Inputs, Options>;

  static Output forward(const Inputs& in, const Options& o) { return gla_attention(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return gla_attention_backward(in, *d.out, o, d.final_state);
  }
  static void complete(Inputs& in, Options&, OwnedArrays&) {
    if (in.gate && !in.g) in.g = std::exchange(in.gate, nullptr);
  }

  static constexpr std::array kFields =
      join(kLinearQkv<Call>,
           std::array{
               array<&Call::in, &Inputs::g>("g", "B T Hq K|B T Hq"),
               array<&Call::in, &Inputs::g_gamma>("g_gamma", "Hq"),
           },
           kLinearState<Call>,
           std::array{
               array<&Call::in, &Inputs::gate>("gate", "B T Hq K|B T Hq"),
           },
           kLinearOptions<Call>);

  static constexpr Operation kRow = {
      .name = "gla_attention",
      .id = "gla",
      .summary = "linear attention with gates, O(T)",
      .fields = kFields,
      .outputs = kLinearOutputs,
      .gradients = kGlaGradients,
      .cotangents = "out final_state",
      .cache_name = "gla",
      .version = "1",
      .splittable = "B Hq Hkv",
  };
};

struct LightningAttentionOp : LinearOp<LightningAttentionConfig> {
  using Inputs = LightningAttentionInputs;
  using Options = LightningAttentionOptions;
  using Call = CallOf<Inputs, Options>;

  static Output forward(const Inputs& in, const Options& o) { return lightning_attention(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return lightning_attention_backward(in, *d.out, o, d.final_state);
  }
  /// The decay of a head depends on its number in the whole.
  static void complete(Inputs& in, Options& o, OwnedArrays& owned) {
    if (in.decay || !o.layer_idx || !o.num_layers || in.query->rank() != 4) return;
    in.decay = &owned.tensors.emplace_back(
        lightning_decay(in.query->extent(2), *o.layer_idx, *o.num_layers));
    o.layer_idx = o.num_layers = std::nullopt;
  }

  static constexpr std::array kFields =
      join(kLinearQkv<Call>, kLinearState<Call>,
           std::array{
               array<&Call::in, &Inputs::decay>("decay", "Hq|"),
               option<&Call::options, &Options::layer_idx>(
                   "layer_idx", "number of the layer, from 0; gives the decay"),
               option<&Call::options, &Options::num_layers>("num_layers",
                                                            "whole number above layer_idx"),
           },
           kLinearOptions<Call>);

  static constexpr Operation kRow = {
      .name = "lightning_attention",
      .id = "lightning_attn",
      .summary = "linear attention with one decay per head, O(T)",
      .fields = kFields,
      .outputs = kLinearOutputs,
      .gradients = kLightningGradients,
      .cotangents = "out final_state",
      .cache_name = "lightning-attention",
      .version = "1",
      .splittable = "B Hq Hkv",
  };
};

}  // namespace maskctl::attention
