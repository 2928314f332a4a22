// ONNX's operator Attention, opsets 23 to 25.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kOnnxArguments[] = {
    {"attn_mask", kMask, "None"},
    {"is_causal", kCausal, "0"},
    {"left_window_size", kLeft, "-1"},
    {"right_window_size", kRight, "-1"},
    {"nonpad_kv_seqlen", kUsedKeys, "None"},
    {"past_key", kUnread, "None"},  // moves the diagonal by its length
    {"past_value", kNothing, "None"},
    {"scale", kNothing, "None"},
    {"softcap", kNothing, "0.0"},
    {"softmax_precision", kNothing, "None"},
    {"q_num_heads", kNothing, "None"},
    {"kv_num_heads", kNothing, "None"},
    {"qk_matmul_output_mode", kNothing, "0"}};

constexpr Convention kOnnxCalls[] = {
    {.call = "Attention",
     .align = Align::kTopLeft,
     .unbounded = "-1",
     .leading = "q, k, v",
     .names = "Q, K, V",
     .arguments = kOnnxArguments,
     .overrides = "windows from opset 25 on; with nonpad_kv_seqlen the last of its keys, with "
                  "past_key the first new key is on the diagonal; all conditions are joined by and",
     .source =
         "onnx 1.23 docs/Operators.md Attention-25, reference/ops/op_attention.py at f7546912",
     .spelled = "op.Attention"}};

/// Without a diagonal, the numbers of keys are padding alone.
void settle_onnx(const LibrarySource&, Index, ParsedCall& call) {
  if (call.causal || call.left || call.right || !call.used_keys) return;
  call.valid_keys = std::move(call.used_keys);
  call.used_keys.reset();
}

Chain read_onnx(const Library& library, std::string_view text) {
  return chain_of_masked_call(read_library_source(library, text), "attn_mask");
}

constexpr WindowConvention kOnnxWindows[] = {
    {"onnx opset 25", "left_window_size=W, right_window_size=0", WindowRule::kInclusive,
     "docs/Operators.md: p - W <= j"},
    {"onnx opset 25", "left_window_size=W, right_window_size=W", WindowRule::kBoth,
     "docs/Operators.md: p - W <= j <= p + W"}};

constexpr Library kOnnx = {.name = "onnx",
                           .title = "ONNX Attention, opsets 23 to 25",
                           .align = Align::kTopLeft,
                           .empty_row = "0 (errata of onnx 1.23; NaN before)",
                           .dense = "op.Attention(q, k, v, attn_mask=mask)",
                           .array = "np.array([{}])",
                           .module = &kNumpy,
                           .calls = kOnnxCalls,
                           .windows = kOnnxWindows,
                           .reader = read_onnx,
                           .writer = write_call_or_mask,
                           .settle = settle_onnx};

}  // namespace

const Library& row(const Onnx*) { return kOnnx; }

}  // namespace maskctl::library
