// Transformer Engine, where the mask type takes precedence over other arguments.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kTeType{"attn_mask_type", kMaskType, "\"causal\""};
constexpr Argument kTeWindow{"window_size", kSides, "None"};
constexpr Argument kTeDiagonal{"bottom_right_diagonal", kBottomRight, "None"};

/// The other arguments of the class and of its call.
constexpr Argument kTeOthers[] = {
    {"attention_mask", kUnread, "None"},
    {"cu_seqlens_q_padded", kUnread, "None"},
    {"cu_seqlens_kv_padded", kUnread, "None"},
    {"inference_params", kUnread, "None"},
    {"pad_between_seqs", kUnread, "None"},
    {"core_attention_bias", kUnread, "None"},
    {"num_attention_heads", kNothing, "None"},
    {"kv_channels", kNothing, "None"},
    {"num_gqa_groups", kNothing, "None"},
    {"attention_dropout", kNothing, "0.0"},
    {"softmax_scale", kNothing, "None"},
    {"attention_type", kNothing, "\"self\""},
    {"layer_number", kNothing, "None"},
    {"alibi_slopes", kNothing, "None"},
    {"core_attention_bias_type", kNothing, "\"no_bias\""},
    {"checkpoint_core_attention", kNothing, "False"},
    {"fast_zero_fill", kNothing, "True"},
    {"max_seqlen_q", kNothing, "None"},
    {"max_seqlen_kv", kNothing, "None"},
    {"num_splits", kNothing, "1"},
    {"deterministic", kNothing, "False"},
    {"softmax_type", kNothing, "\"vanilla\""},
    {"score_mod", kUnread, "None"},
    {"cp_group", kUnread, "None"},  // each rank has parts of the tokens
    {"cp_global_ranks", kNothing, "None"},
    {"cp_stream", kNothing, "None"},
    {"cp_comm_type", kNothing, "\"p2p\""},
    {"sequence_parallel", kNothing, "False"},
    {"tp_size", kNothing, "1"},
    {"tp_group", kNothing, "None"},
    {"get_rng_state_tracker", kNothing, "None"},
    {"return_max_logit", kNothing, "False"},
    {"name", kNothing, "None"},
    {"fp8_output", kNothing, "False"},
    {"bf16_backward", kNothing, "False"},
    {"score_mod_bprop", kNothing, "None"},
    {"score_mod_tensors", kNothing, "None"},
    {"score_mod_bprop_tensors", kNothing, "None"},
    {"qkv_layer", kNothing, "None"},
    {"kv_layer", kNothing, "None"},
    {"qkv_interleave_dim", kNothing, "-3"},
};
constexpr Argument kTeMask[] = {kTeType, kTeWindow, kTeDiagonal};
constexpr Argument kTeDocuments[] = {
    {.name = "qkv_format", .fallback = "\"sbhd\"", .text = "\"thd\""},
    {"cu_seqlens_q", kEnds, ""},
    {"cu_seqlens_kv", kKeyEnds, ""},
};
constexpr auto kTeDense = joined_lists(kTeMask, kTeOthers);
constexpr auto kTePacked = joined_lists(kTeDocuments, kTeMask, kTeOthers);

/// The convention of DotProductAttention, with or without documents.
constexpr Convention te_call(bool documents, std::span<const Argument> arguments) {
  return {.call = "DotProductAttention",
          .documents = documents,
          .unbounded = "-1",
          .one_unbounded = kPastAll,
          .leading = "q, k, v",
          .names = "query_layer, key_layer, value_layer",
          .arguments = arguments,
          .overrides =
              "causal types set the right side to 0 and the alignment; no_mask and "
              "padding refuse one-sided windows, and (-1, 0) is (-1, -1)",
          .source =
              "TransformerEngine 2.20 dot_product_attention.py, utils.py "
              "check_set_window_size",
          .object = "attention = DotProductAttention(num_heads, head_dim)",
          .spelled = "attention"};
}
constexpr Convention kTeCalls[] = {te_call(false, kTeDense), te_call(true, kTePacked)};

/// Changes the window as Transformer Engine's check_set_window_size does.
void settle_te(const LibrarySource& source, Index position, ParsedCall& call) {
  if (call.align == Align::kUnset) call.align = Align::kBottomRight;
  if (call.causal) {
    call.right = 0;
    return;
  }
  if (!call.sides_given) return;
  const bool only_left_open = !call.left && call.right == Index{0};
  if (only_left_open) {
    call.right.reset();  // (-1, 0) is read as (-1, -1)
  } else if (call.left.has_value() != call.right.has_value()) {
    source.fail(position,
                "Transformer Engine refuses a window with one side for no_mask and padding");
  }
}

constexpr Library kTe = {
    .name = "te",
    .title = "Transformer Engine",
    .empty_row = "depends on the backend; flash-attn 0",
    .dense = "attn_mask_type=\"arbitrary\", attention_mask=~mask (True is closed)",
    .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
    .calls = kTeCalls,
    .reader = read_call,
    .writer = write_call,
    .settle = settle_te};

}  // namespace

const Library& row(const Te*) { return kTe; }

}  // namespace maskctl::library
