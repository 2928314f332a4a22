// Gated linear attention by the recurrence.
#include "maskctl/attention/operations/linear/gla.h"

#include "maskctl/attention/arrays/checks.h"

namespace maskctl::attention {
namespace {

RecurrentAttentionInputs recurrence(const GlaAttentionInputs& in) {
  if (in.g && in.gate) {
    refuse("gate and g are two names of one array; give one");
  }
  RecurrentAttentionInputs out;
  out.query = in.query, out.key = in.key, out.value = in.value;
  out.g = in.gate ? in.gate : in.g;
  out.g_gamma = in.g_gamma;
  out.initial_state = in.initial_state;
  out.cu_seqlens = in.cu_seqlens;
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

}  // namespace maskctl::attention
