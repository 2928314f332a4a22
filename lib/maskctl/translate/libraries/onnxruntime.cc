// onnxruntime's operator GroupQueryAttention.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kOrtArguments[] = {
    {"causal", kCausal, "1"},
    {.name = "local_window_size", .meaning = kKeys, .fallback = "-1", .note = kKeysNote},
    {"seqlens_k", kUsedKeys, "None"},  // one less than the keys of each batch entry
    {"attention_bias", kUnread, "None"},
    {"sliding_window_cache", kUnread, "0"},  // keys are those that the cache holds
    {"num_heads", kNothing, "None"},
    {"kv_num_heads", kNothing, "None"},
    {"scale", kNothing, "None"},
    {"softcap", kNothing, "0.0"},
    {"do_rotary", kNothing, "0"},
    {"rotary_interleaved", kNothing, "0"},
    {"smooth_softmax", kNothing, "0"},
    {"qk_output", kNothing, "0"},
    {"qk_norm_epsilon", kNothing, "None"},
    {"kv_cache_bit_width", kNothing, "None"},
    {"k_quant_type", kNothing, "None"},
    {"v_quant_type", kNothing, "None"},
    {"cos_cache", kNothing, "None"},
    {"sin_cache", kNothing, "None"},
    {"position_ids", kNothing, "None"},
    {"head_sink", kNothing, "None"},
    {"k_scale", kNothing, "None"},
    {"v_scale", kNothing, "None"},
    {"q_norm_weight", kNothing, "None"},
    {"k_norm_weight", kNothing, "None"}};

constexpr Convention kOrtCalls[] = {
    {.call = "GroupQueryAttention",
     .align = Align::kBottomRight,
     .unbounded = "-1",
     .leading = "query, key, value, past_key, past_value, seqlens_k, total_sequence_length",
     .arguments = kOrtArguments,
     .overrides = "causal by default; the last of seqlens_k + 1 keys is on the diagonal; older "
                  "versions on CPU keep one key more (onnxruntime#25927)",
     .source = "onnxruntime docs/ContribOperators.md at 004b79ed, "
               "contrib_ops/cpu/bert/gqa_attention_base.h"}};

/// seqlens_k is one less than the keys; a window belongs to causal attention.
void settle_ort(const LibrarySource& source, Index position, ParsedCall& call) {
  if (call.used_keys) {
    for (Index& n : *call.used_keys) ++n;
  }
  if (call.keys && !call.causal) {
    source.fail(position, "onnxruntime refuses local_window_size with causal=0");
  }
}

constexpr WindowConvention kOrtWindows[] = {{"onnxruntime GroupQueryAttention",
                                             "local_window_size=W", WindowRule::kKeys,
                                             "gqa_attention_base.h: start = length - W"}};

constexpr Library kOnnxruntime = {.name = "onnxruntime",
                                  .title = "onnxruntime GroupQueryAttention",
                                  .align = Align::kBottomRight,
                                  .empty_row = "cannot occur: a query sees its own key",
                                  .apart = "documents: each is a batch entry of its own",
                                  .calls = kOrtCalls,
                                  .windows = kOrtWindows,
                                  .reader = read_call,
                                  .writer = write_call,
                                  .settle = settle_ort};

}  // namespace

const Library& row(const Onnxruntime*) { return kOnnxruntime; }

}  // namespace maskctl::library
