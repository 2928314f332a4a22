// cuDNN: the calls of its frontend.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kCudnnCausal{
    .name = "use_causal_mask", .meaning = kCausal, .fallback = "False", .read_only = true};
constexpr Argument kCudnnAlign{.name = "diagonal_alignment",
                               .meaning = kAlignment,
                               .fallback = "TOP_LEFT",
                               .text = "cudnn.diagonal_alignment.{align}"};
constexpr Argument kCudnnLeft{.name = "diagonal_band_left_bound",
                              .meaning = kLeftKeys,
                              .fallback = "None",
                              .note = "the left bound is exclusive: {keys} is left={left}"};
constexpr Argument kCudnnRight{"diagonal_band_right_bound", kRight, "None"};

constexpr Argument kCudnnOthers[] = {
    {"bias", kUnread, "None"},
    {"use_causal_mask_bottom_right", kUnread, "False"},
    {"sliding_window_length", kUnread, "None"},
    {"block_mask", kUnread, "None"},
    {"score_mod", kUnread, "None"},
    {"paged_attention_k_table", kUnread, "None"},
    {"paged_attention_v_table", kUnread, "None"},
    {"attn_scale", kNothing, "None"},
    {"dropout", kNothing, "None"},
    {"use_alibi_mask", kNothing, "False"},
    {"generate_stats", kNothing, "False"},
    {"is_inference", kNothing, "True"},
    {"paged_attention_max_seq_len_kv", kNothing, "None"},
    {"rng_dump", kNothing, "None"},
    {"compute_data_type", kNothing, "None"},
    {"name", kNothing, "\"\""},
    {"implementation", kNothing, "None"},
    {"score_max", kNothing, "None"},
    {"score_sum_exp", kNothing, "None"},
    {"sink_token", kNothing, "None"},
    {"unfuse_fma", kNothing, "False"},
};
constexpr Argument kCudnnMask[] = {kCudnnCausal, kCudnnAlign, kCudnnLeft, kCudnnRight};
constexpr Argument kCudnnLengths[] = {
    {.name = "use_padding_mask", .fallback = "False", .text = "True"},
    {"seq_len_q", kLengths, ""},
    {"seq_len_kv", kKeyLengths, ""}};
constexpr auto kCudnnDense = joined_lists(kCudnnMask, kCudnnOthers);
constexpr auto kCudnnPadded = joined_lists(kCudnnLengths, kCudnnMask, kCudnnOthers);

/// The convention of graph.sdpa, with or without documents.
constexpr Convention cudnn_call(bool documents, std::span<const Argument> arguments) {
  return {.call = "graph.sdpa",
          .documents = documents,
          .unbounded = "None",
          .leading = "q=q, k=k, v=v",
          .arguments = arguments,
          .overrides = "use_causal_mask sets the right bound to 0",
          .source = "cudnn-frontend 1.23 python/pygraph/sdpa.cpp, docs/operations/Attention.md"};
}
constexpr Convention kCudnnCalls[] = {cudnn_call(false, kCudnnDense),
                                      cudnn_call(true, kCudnnPadded)};

constexpr WindowConvention kCudnnWindows[] = {{"cudnn", "diagonal_band_left_bound=W",
                                               WindowRule::kKeys,
                                               "attn_score_modifiers.h: col + W > row"}};

constexpr Library kCudnn = {
    .name = "cudnn",
    .title = "cuDNN frontend",
    .empty_row = "not stated",
    .dense = "bias=torch.where(mask, 0.0, -inf)",
    .array = "torch.tensor([{}], dtype=torch.int32, device=q.device).reshape(-1, 1, 1, 1)",
    .calls = kCudnnCalls,
    .windows = kCudnnWindows,
    .reader = read_call,
    .writer = write_call};

}  // namespace

const Library& row(const Cudnn*) { return kCudnn; }

}  // namespace maskctl::library
