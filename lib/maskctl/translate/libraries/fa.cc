// The calls of flash-attn 2, 3 and 4.
#include <array>

#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kFaCausal{"causal", kCausal, "False"};
constexpr Argument kFaWindow{"window_size", kSides, "(-1, -1)"};
constexpr Argument kFaChunk{"attention_chunk", kChunk, "0"};

constexpr Argument fa_nothing(std::string_view name, std::string_view fallback = "None") {
  return {name, kNothing, fallback};
}
constexpr Argument fa_unread(std::string_view name, std::string_view fallback = "None") {
  return {name, kUnread, fallback};
}

// The arguments of flash-attn 2 in their order, followed by those that 3 (hopper/) and 4 (cute/)
// have added.
constexpr Argument kFaFlags[] = {fa_nothing("dropout_p", "0.0"),
                                 fa_nothing("softmax_scale"),
                                 kFaCausal,
                                 kFaWindow,
                                 fa_nothing("softcap", "0.0"),
                                 fa_nothing("alibi_slopes"),
                                 fa_nothing("deterministic", "False"),
                                 fa_nothing("return_attn_probs", "False")};
constexpr Argument kFaAdded[] = {
    kFaChunk, fa_unread("sink_token_length", "0"), fa_nothing("qv"), fa_nothing("q_descale"),
    fa_nothing("k_descale"), fa_nothing("v_descale"), fa_nothing("num_splits", "1"),
    fa_nothing("pack_gqa"), fa_nothing("num_heads_q"), fa_nothing("sm_margin", "0"),
    fa_nothing("scheduler_metadata"),
    // of 4
    fa_unread("gather_kv_indices"), fa_nothing("learnable_sink"), fa_unread("score_mod"),
    fa_nothing("score_mod_bwd"), fa_unread("mask_mod"), fa_nothing("aux_tensors"),
    fa_nothing("aux_scalars"), fa_unread("block_sparse_tensors"),
    fa_unread("block_sparse_tensors_bwd"), fa_unread("full_block_cnt"), fa_unread("full_block_idx"),
    fa_unread("mask_block_cnt"), fa_unread("mask_block_idx"), fa_nothing("return_lse", "False")};
constexpr Argument kFaDocuments[] = {
    {"cu_seqlens_q", kEnds, ""},
    {"cu_seqlens_k", kKeyEnds, ""},
    {.name = "max_seqlen_q", .fallback = "", .text = "{longest_q}"},
    {.name = "max_seqlen_k", .fallback = "", .text = "{longest_k}"}};
constexpr Argument kFaPackedDocuments[] = {{"cu_seqlens", kEnds, ""}, {"max_seqlen", kNothing, ""}};
constexpr Argument kFaUsed[] = {fa_unread("block_table"),
                                fa_unread("page_table"),
                                {"seqused_q", kUsedQueries, "None"},
                                {"seqused_k", kUsedKeys, "None"},
                                fa_nothing("min_seqlen_k"),
                                fa_nothing("seqlen_k_per_split"),
                                fa_nothing("disable_scheduler_metadata", "False")};
constexpr Argument kFaCached[] = {{"k", kNewKeys, "None"},
                                  fa_nothing("v"),
                                  fa_nothing("rotary_cos"),
                                  fa_nothing("rotary_sin"),
                                  {"cache_seqlens", kUsedKeys, "None"},
                                  fa_unread("cache_batch_idx"),
                                  fa_unread("cache_leftpad"),
                                  fa_unread("block_table"),
                                  fa_nothing("softmax_scale"),
                                  kFaCausal,
                                  kFaWindow,
                                  fa_nothing("softcap", "0.0"),
                                  fa_nothing("rotary_interleaved", "True"),
                                  fa_nothing("alibi_slopes"),
                                  fa_nothing("num_splits", "0"),
                                  fa_nothing("return_softmax_lse", "False"),
                                  // of 3
                                  kFaChunk,
                                  fa_unread("page_table"),
                                  fa_unread("cu_seqlens_q"),
                                  fa_unread("cu_seqlens_k_new"),
                                  fa_unread("sink_token_length", "0"),
                                  fa_nothing("qv"),
                                  fa_nothing("max_seqlen_q"),
                                  fa_nothing("rotary_seqlens"),
                                  fa_nothing("q_descale"),
                                  fa_nothing("k_descale"),
                                  fa_nothing("v_descale"),
                                  fa_nothing("scheduler_metadata"),
                                  fa_nothing("pack_gqa"),
                                  fa_nothing("sm_margin", "0")};

constexpr auto kFaFunc = joined_lists(kFaFlags, kFaAdded);
constexpr auto kFaVarlen = joined_lists(kFaDocuments, kFaFlags, kFaUsed, kFaAdded);
constexpr auto kFaPackedVarlen = joined_lists(kFaPackedDocuments, kFaFlags, kFaAdded);

/// The arguments of flash-attn 4, in which None means that a side of a window has no limit, while a
/// negative side is a limit.
template <std::size_t N>
constexpr std::array<Argument, N> of_cute(std::array<Argument, N> arguments) {
  for (Argument& argument : arguments) {
    if (argument.meaning == kSides) argument = {"window_size", kSignedSides, "(None, None)"};
  }
  return arguments;
}
constexpr auto kCuteFunc = of_cute(kFaFunc);
constexpr auto kCuteVarlen = of_cute(kFaVarlen);

constexpr std::string_view kFaOverrides = "causal=True sets the right side to 0";
constexpr std::string_view kFaSource = "flash-attention README, hopper/mask.h";

constexpr Convention fa_call(std::string_view call, bool documents, std::string_view leading,
                             std::span<const Argument> arguments, bool written = false) {
  return {.call = call,
          .align = Align::kBottomRight,
          .documents = documents,
          .unbounded = "-1",
          .leading = leading,
          .arguments = arguments,
          .overrides = kFaOverrides,
          .source = kFaSource,
          .written = written};
}
constexpr Convention cute_call(std::string_view call, bool documents,
                               std::span<const Argument> arguments) {
  Convention out = fa_call(call, documents, "q, k, v", arguments);
  out.module = "cute";
  out.unbounded = "None";
  out.source = "flash-attention flash_attn/cute/interface.py, hopper/seqlen.h";
  return out;
}
constexpr Convention kFaCalls[] = {
    fa_call("flash_attn_func", false, "q, k, v", kFaFunc, true),
    fa_call("flash_attn_varlen_func", true, "q, k, v", kFaVarlen, true),
    fa_call("flash_attn_with_kvcache", false, "q, k_cache, v_cache", kFaCached),
    fa_call("flash_attn_qkvpacked_func", false, "qkv", kFaFunc),
    fa_call("flash_attn_kvpacked_func", false, "q, kv", kFaFunc),
    fa_call("flash_attn_varlen_qkvpacked_func", true, "qkv", kFaPackedVarlen),
    fa_call("flash_attn_varlen_kvpacked_func", true, "q, kv", kFaVarlen),
    cute_call("flash_attn_func", false, kCuteFunc),
    cute_call("flash_attn_varlen_func", true, kCuteVarlen)};

constexpr WindowConvention kFaWindows[] = {
    {"fa, te", "window_size=(W, 0)", WindowRule::kInclusive, "flash-attention README: inclusive"}};

constexpr Library kFa = {.name = "fa",
                         .title = "flash-attn 2, 3, 4",
                         .align = Align::kBottomRight,
                         .empty_row = "0 (documented)",
                         .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
                         .by_position = true,
                         .calls = kFaCalls,
                         .windows = kFaWindows,
                         .reader = read_call,
                         .writer = write_call};

}  // namespace

const Library& row(const Fa*) { return kFa; }

}  // namespace maskctl::library
