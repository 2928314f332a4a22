// Megatron-LM: TransformerConfig, whose window two attention classes read in their own ways.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kMegatronConfig[] = {
    {"window_size", kSides, "None"},           {"window_attn_skip_freq", kUnread, "None"},
    {"num_layers", kNothing, "None"},          {"hidden_size", kNothing, "None"},
    {"num_attention_heads", kNothing, "None"}, {"num_query_groups", kNothing, "None"},
    {"kv_channels", kNothing, "None"},         {"softmax_type", kNothing, "\"vanilla\""}};

constexpr Convention kMegatronCalls[] = {
    {.call = "TransformerConfig",
     .causal = true,
     .unbounded = "-1",
     .arguments = kMegatronConfig,
     .overrides = "of the causal layers of GPT; -1 is no end for TEDotProductAttention, and the "
                  "number -1 for DotProductAttention, which drops the window where "
                  "masked_softmax_fusion applies",
     .source = "Megatron-LM 0.20 core/transformer/transformer_config.py, dot_product_attention.py, "
               "utils.py, fusions/fused_softmax.py at d98e8a64"}};

/// What both classes agree on: L keys before the query's own, and none after it.
void settle_megatron(const LibrarySource& source, Index position, ParsedCall& call) {
  if (!call.sides_given) return;
  if (call.right != Index{0}) {
    source.fail(position,
                "TEDotProductAttention takes the right side as 0, DotProductAttention as it is: "
                "expected (L, 0)");
  }
  if (!call.left) {
    source.fail(position,
                "-1 is no end for TEDotProductAttention, and the number -1 for "
                "DotProductAttention: leave window_size out");
  }
}

void write_megatron(const Chain& chain, const MaskForm& form, const StepName& name,
                    Translation& out) {
  if (form.banded() && form.align != Align::kUnset) return refuse(out, refusal::kDiagonalUnknown);
  write_call(chain, form, name, out);
}

constexpr WindowConvention kMegatronWindows[] = {
    {"megatron", "window_size=(W, 0)", WindowRule::kInclusive,
     "utils.py get_sliding_window_causal_mask: triu(K - Q - W)"}};

constexpr Library kMegatron = {
    .name = "megatron",
    .title = "Megatron-LM",
    .empty_row = "DotProductAttention the mean of V (-10000 is filled in)",
    .calls = kMegatronCalls,
    .windows = kMegatronWindows,
    .reader = read_call,
    .writer = write_megatron,
    .settle = settle_megatron};

}  // namespace

const Library& row(const Megatron*) { return kMegatron; }

}  // namespace maskctl::library
