// Lightning attention by the recurrence.
#include "maskctl/attention/operations/linear/lightning.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

Index head_count(const Tensor* query) {
  check_rank("query", query, 4);
  return query->extent(2);
}

/// One given decay for each head.
Tensor decay_of_heads(const Tensor& decay, Index heads) {
  check_float("decay", decay);
  if (decay.rank() > 1 || (decay.elements() != 1 && decay.elements() != heads)) {
    refuse_shape(
        fmt::format("decay is {}, expected one number or ({},)", shape_text(decay.shape()), heads));
  }
  const Tensor given = astype(decay, DType::kFloat32);
  Tensor out(DType::kFloat32, {heads});
  for (Index h = 0; h < heads; ++h) {
    out.as<float>()[as_size(h)] = given.as<float>()[given.elements() == 1 ? 0 : as_size(h)];
  }
  return out;
}

Tensor decay_of(const LightningAttentionInputs& in, const LightningAttentionOptions& o) {
  const Index heads = head_count(in.query);
  if (in.decay) {
    if (!o.layer_idx && !o.num_layers) return decay_of_heads(*in.decay, heads);
    refuse("decay and layer_idx, num_layers: give one of them");
  }
  if (o.layer_idx && o.num_layers) return lightning_decay(heads, *o.layer_idx, *o.num_layers);
  refuse("neither decay nor both of layer_idx and num_layers given");
}

RecurrentAttentionInputs recurrence(const LightningAttentionInputs& in, const Tensor& decay) {
  RecurrentAttentionInputs out;
  out.query = in.query, out.key = in.key, out.value = in.value;
  out.g_gamma = &decay;
  out.initial_state = in.initial_state;
  out.cu_seqlens = in.cu_seqlens;
  return out;
}

}  // namespace

Tensor lightning_decay(Index heads, Index layer_idx, Index num_layers) {
  if (!(layer_idx >= 0 && layer_idx < num_layers)) {
    refuse(fmt::format("layer_idx {} is not one of {} layers from 0", layer_idx, num_layers));
  }
  Tensor decay(DType::kFloat32, {heads});
  const double depth = 1 - static_cast<double>(layer_idx) / static_cast<double>(num_layers);
  for (Index h = 0; h < heads; ++h) {
    decay.as<float>()[as_size(h)] =
        static_cast<float>(-8.0 / static_cast<double>(heads) * depth * static_cast<double>(h));
  }
  return decay;
}

LinearAttentionResult lightning_attention(const LightningAttentionInputs& inputs,
                                          const LightningAttentionOptions& options) {
  const Tensor decay = decay_of(inputs, options);
  return recurrent_attention(recurrence(inputs, decay), options);
}

LinearAttentionGradients lightning_attention_backward(const LightningAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const LightningAttentionOptions& options,
                                                      const Tensor* d_final_state) {
  const Tensor decay = decay_of(inputs, options);
  LinearAttentionGradients gradients =
      recurrent_attention_backward(recurrence(inputs, decay), d_out, options, d_final_state);
  gradients.g_gamma.reset();
  return gradients;
}

}  // namespace maskctl::attention
