// The recurrence: resolves aliases, checks the call, allocates the results and runs the kernels.
#include "maskctl/kernels/linear/recurrent.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/problems/dims.h"
#include "maskctl/kernels/linear/checked.h"
#include "maskctl/kernels/problems/table.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

RecurrentAttentionInputs without_alias(RecurrentAttentionInputs in) {
  if (!in.state) return in;
  if (in.initial_state) {
    refuse("state and initial_state are two names of one array; give one");
  }
  in.initial_state = in.state;
  in.state = nullptr;
  return in;
}

using Shape = std::vector<Index>;

/// The arrays that all forms of linear attention have.
template <class Inputs>
RecurrentAttentionInputs shared_arrays(const Inputs& in) {
  RecurrentAttentionInputs out;
  out.query = in.query, out.key = in.key, out.value = in.value;
  out.initial_state = in.initial_state;
  out.cu_seqlens = in.cu_seqlens;
  return out;
}

}  // namespace

void check_widths(const LinearDims& d) {
  if (d.key_dim > 0 && d.value_dim > 0) return;
  refuse_shape(
      fmt::format("key width {} and value width {}, expected at least 1", d.key_dim, d.value_dim));
}

LinearProblem checked_linear(const RecurrentAttentionInputs& in,
                             const RecurrentAttentionOptions& options) {
  check_rank("query", in.query, 4);
  check_rank("key", in.key, 4);
  check_rank("value", in.value, 4);
  check_dtypes({{"query", in.query}, {"key", in.key}, {"value", in.value}});
  LinearDims d;
  d.batch = in.query->extent(0), d.tokens = in.query->extent(1);
  d.heads = in.query->extent(2), d.kv_heads = in.key->extent(2);
  d.key_dim = in.query->extent(3), d.value_dim = in.value->extent(3);
  check_shape("key", *in.key, Shape{d.batch, d.tokens, d.kv_heads, d.key_dim});
  check_shape("value", *in.value, Shape{d.batch, d.tokens, d.kv_heads, d.value_dim});
  check_head_groups(d.heads, d.kv_heads);
  check_widths(d);
  d.g_per_head = in.g && in.g->rank() == 3;
  Shape of_keys{d.batch, d.tokens, d.heads, d.key_dim}, of_heads{d.batch, d.tokens, d.heads};
  check_floats("g", in.g, d.g_per_head ? of_heads : of_keys);
  check_floats("g_gamma", in.g_gamma, {d.heads});
  check_floats("gk", in.gk, of_keys);
  check_floats("gv", in.gv, d.out_shape());
  d.sequences = sequences_in(in.cu_seqlens, d.batch, d.tokens);
  check_floats("initial_state", in.initial_state, d.state_shape());
  d.reverse = options.reverse;
  d.chunk_size = options.chunk_size;
  d.scale = options.softmax_scale.value_or(default_scale(d.key_dim));
  return {{*in.query, *in.key, *in.value, view_of(in.g), view_of(in.g_gamma), view_of(in.gk),
           view_of(in.gv), view_of(in.initial_state)},
          std::move(d)};
}

LinearAttentionResult recurrent_attention(const RecurrentAttentionInputs& inputs,
                                          const RecurrentAttentionOptions& options) {
  const Context& context = options.context;
  const LinearProblem problem = checked_linear(without_alias(inputs), options);
  LinearAttentionResult result{Tensor::unwritten(problem.value.dtype(), problem.d.out_shape()),
                               Tensor::unwritten(DType::kFloat32, problem.d.state_shape())};
  run_kernel(context, "linear_forward", &MasklessKernels::linear_forward, problem,
             {result.out, *result.final_state});
  if (!options.return_state && !inputs.state) result.final_state.reset();
  return result;
}

namespace {

/// Returns the gradients of a recurrence; that of g_gamma only with `wants_gamma`.
LinearAttentionGradients gradients_of(const RecurrentAttentionInputs& inputs, const Tensor& d_out,
                                      const RecurrentAttentionOptions& options,
                                      const Tensor* d_final_state, bool wants_gamma) {
  const Context& context = options.context;
  const LinearProblem problem = checked_linear(without_alias(inputs), options);
  check_shape("d_out", d_out, problem.d.out_shape());
  if (d_final_state) check_shape("d_final_state", *d_final_state, problem.d.state_shape());
  LinearAttentionGradients gradients =
      map_arrays(problem, [](const auto& array) { return unwritten_like(array); });
  if (!wants_gamma) gradients.g_gamma.reset();
  run_kernel(context, "linear_backward", &MasklessKernels::linear_backward, problem,
             {d_out, view_of(d_final_state)},
             map_arrays(gradients, [](auto& array) { return view_of(array); }));
  return gradients;
}

}  // namespace

LinearAttentionGradients recurrent_attention_backward(const RecurrentAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const RecurrentAttentionOptions& options,
                                                      const Tensor* d_final_state) {
  return gradients_of(inputs, d_out, options, d_final_state, true);
}

// Gated linear attention.

namespace {

RecurrentAttentionInputs recurrence(const GlaAttentionInputs& in) {
  if (in.g && in.gate) {
    refuse("gate and g are two names of one array; give one");
  }
  RecurrentAttentionInputs out = shared_arrays(in);
  out.g = in.gate ? in.gate : in.g;
  out.g_gamma = in.g_gamma;
  return out;
}

}  // namespace

LinearAttentionResult gla_attention(const GlaAttentionInputs& inputs,
                                    const GlaAttentionOptions& options) {
  return recurrent_attention(recurrence(inputs), options);
}

LinearAttentionGradients gla_attention_backward(const GlaAttentionInputs& inputs,
                                                const Tensor& d_out,
                                                const GlaAttentionOptions& options,
                                                const Tensor* d_final_state) {
  return recurrent_attention_backward(recurrence(inputs), d_out, options, d_final_state);
}

// Lightning attention.

namespace {

Index head_count(const Tensor* query) {
  check_rank("query", query, 4);
  return query->extent(2);
}

/// The decay of each head, [heads], from a given decay that may be a single number.
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
  RecurrentAttentionInputs out = shared_arrays(in);
  out.g_gamma = &decay;
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
  return gradients_of(recurrence(inputs, decay), d_out, options, d_final_state, false);
}

}  // namespace maskctl::attention
