// The calls of flash-attn 2, 3 and 4.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kFaDropout{"dropout_p", kNothing, "0.0"};
constexpr Argument kFaScale{"softmax_scale", kNothing, "None"};
constexpr Argument kFaCausal{"causal", kCausal, "False"};
constexpr Argument kFaWindow{"window_size", kSides, "(-1, -1)"};
constexpr Argument kFaChunk{"attention_chunk", kChunk, "0"};

constexpr Argument kFaFunc[] = {kFaDropout, kFaScale, kFaCausal, kFaWindow, kFaChunk};
constexpr Argument kFaVarlen[] = {{"cu_seqlens_q", kEnds, ""},
                                  {"cu_seqlens_k", kKeyEnds, ""},
                                  {.name = "max_seqlen_q", .fallback = "", .text = "{longest_q}"},
                                  {.name = "max_seqlen_k", .fallback = "", .text = "{longest_k}"},
                                  kFaDropout,
                                  kFaScale,
                                  kFaCausal,
                                  kFaWindow,
                                  kFaChunk};
constexpr Argument kFaCache[] = {kFaCausal, kFaWindow, kFaChunk};

constexpr std::string_view kFaOverrides = "causal=True sets the right side to 0";
constexpr std::string_view kFaSource = "flash-attention README, hopper/mask.h";

constexpr Convention kFaCalls[] = {{.call = "flash_attn_func",
                                    .align = Align::kBottomRight,
                                    .unbounded = "-1",
                                    .leading = "q, k, v",
                                    .arguments = kFaFunc,
                                    .overrides = kFaOverrides,
                                    .source = kFaSource},
                                   {.call = "flash_attn_varlen_func",
                                    .align = Align::kBottomRight,
                                    .documents = true,
                                    .unbounded = "-1",
                                    .leading = "q, k, v",
                                    .arguments = kFaVarlen,
                                    .overrides = kFaOverrides,
                                    .source = kFaSource},
                                   {.call = "flash_attn_with_kvcache",
                                    .align = Align::kBottomRight,
                                    .unbounded = "-1",
                                    .leading = "q, k_cache, v_cache",
                                    .arguments = kFaCache,
                                    .overrides = kFaOverrides,
                                    .source = kFaSource,
                                    .written = false}};

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
