// TensorRT-LLM: forward() of its PyTorch attention backends.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kTrtArguments[] = {
    {.name = "attention_mask",
     .meaning = kCausalWord,
     .fallback = "PredefinedAttentionMask.CAUSAL",
     .text = "PredefinedAttentionMask.FULL"},
    {.name = "attention_window_size", .meaning = kKeys, .fallback = "None", .note = kKeysNote},
    {"attention_mask_data", kUnread, "None"},
    {"position_ids", kNothing, "None"}};

constexpr Convention kTrtCalls[] = {
    {.call = "forward",
     .align = Align::kBottomRight,
     .unbounded = "None",
     .leading = "q, k, v, metadata",
     .arguments = kTrtArguments,
     .overrides = "without CAUSAL, and without a cache, attention_window_size has no effect",
     .source = "TensorRT-LLM _torch/attention_backend/vanilla.py at 03dd9bb8",
     .spelled = "attention.forward"}};

void settle_trt(const LibrarySource& source, Index position, ParsedCall& call) {
  if (call.keys && !call.causal) {
    source.fail(position,
                "attention_window_size has no effect without CAUSAL (vanilla.py); what "
                "other backends do is not known");
  }
}

constexpr WindowConvention kTrtWindows[] = {
    {"tensorrt-llm", "attention_window_size=W", WindowRule::kKeys,
     "vanilla.py generate_sliding_window_mask: k > position - W"}};

constexpr Library kTensorrtLlm = {.name = "tensorrt-llm",
                                  .title = "TensorRT-LLM",
                                  .align = Align::kBottomRight,
                                  .empty_row = "cannot occur while decoding",
                                  .apart = "documents: each is a request of its own",
                                  .calls = kTrtCalls,
                                  .windows = kTrtWindows,
                                  .reader = read_call,
                                  .writer = write_call,
                                  .settle = settle_trt};

}  // namespace

const Library& row(const TensorrtLlm*) { return kTensorrtLlm; }

}  // namespace maskctl::library
