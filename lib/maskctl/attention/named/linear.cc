// The linear family by name.
#include "maskctl/attention/modules/gla_attention.h"
#include "maskctl/attention/modules/lightning_attention.h"
#include "maskctl/attention/modules/recurrent_attention.h"
#include "maskctl/attention/named/operations.h"
#include "maskctl/attention/named/run_op.h"

namespace maskctl::attention {
namespace {

constexpr NamedArray kRecurrentArrays[] = {
    {"query", "B T H K", true},
    {"key", "B T Hkv K", true},
    {"value", "B T Hkv V", true},
    {"g", "B T H K|B T H"},
    {"g_gamma", "H"},
    {"gk", "B T H K"},
    {"gv", "B T H V"},
    {"initial_state", "B H K V"},
    {"state", "B H K V"},
    {"cu_seqlens", "N+1", false, true},
};
constexpr NamedArray kGlaArrays[] = {
    {"query", "B T H K", true},   {"key", "B T Hkv K", true},         {"value", "B T Hkv V", true},
    {"g", "B T H K|B T H"},       {"gate", "B T H K|B T H"},          {"g_gamma", "H"},
    {"initial_state", "B H K V"}, {"cu_seqlens", "N+1", false, true},
};
constexpr NamedArray kLightningArrays[] = {
    {"query", "B T H K", true},   {"key", "B T Hkv K", true},
    {"value", "B T Hkv V", true}, {"decay", "H"},
    {"initial_state", "B H K V"}, {"cu_seqlens", "N+1", false, true},
};
constexpr NamedOption kRecurrentOptions[] = {
    {"softmax_scale", "number; 1/sqrt(K)"},
    {"reverse", "true, false"},
    {"return_state", "true, false"},
    {"chunk_size", "a hint; 0"},
};
constexpr NamedOption kLightningOptions[] = {
    {"layer_idx", "whole number"},          {"num_layers", "whole number above layer_idx"},
    {"softmax_scale", "number; 1/sqrt(K)"}, {"reverse", "true, false"},
    {"return_state", "true, false"},        {"chunk_size", "a hint; 0"},
};

template <class Options>
void read_common(Call& call, Options& options) {
  call.read("softmax_scale", options.softmax_scale);
  call.read("reverse", options.reverse);
  call.read("return_state", options.return_state);
  call.read("chunk_size", options.chunk_size);
}

NamedResults run_recurrent(Call& call) {
  auto bound = bind<RecurrentAttentionOp>(call);
  read_common(call, bound.options);
  return run_op(call, bound);
}

NamedResults run_gla(Call& call) {
  auto bound = bind<GLAttentionOp>(call);
  read_common(call, bound.options);
  return run_op(call, bound);
}

NamedResults run_lightning(Call& call) {
  auto bound = bind<LightningAttentionOp>(call);
  call.read("layer_idx", bound.options.layer_idx);
  call.read("num_layers", bound.options.num_layers);
  read_common(call, bound.options);
  return run_op(call, bound);
}

constexpr NamedOperation kOperations[] = {
    {"gla_attention", "gla", "linear attention with gates, O(T)", kGlaArrays, kRecurrentOptions,
     false, true, run_gla},
    {"lightning_attention", "lightning_attn", "linear attention with one decay per head, O(T)",
     kLightningArrays, kLightningOptions, false, true, run_lightning},
    {"recurrent_attention", "recurrent", "linear attention as a recurrence, state in and out",
     kRecurrentArrays, kRecurrentOptions, false, true, run_recurrent},
};

}  // namespace

std::span<const NamedOperation> linear_operations() { return kOperations; }

}  // namespace maskctl::attention
