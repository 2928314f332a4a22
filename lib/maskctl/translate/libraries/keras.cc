// Keras: ops.dot_product_attention and the attention layers.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kKerasOp[] = {{"mask", kMask, "None"},
                                 {"is_causal", kCausal, "False"},
                                 {"bias", kUnread, "None"},
                                 {"scale", kNothing, "None"},
                                 {"flash_attention", kNothing, "None"},
                                 {"attn_logits_soft_cap", kNothing, "None"}};

/// The arguments of the layer's constructor and of its call.
constexpr Argument kKerasLayer[] = {
    {"use_causal_mask", kCausal, "False"},
    {.name = "sliding_window",
     .meaning = kKeysAround,
     .fallback = "None",
     .note = "{left} keys before the query's own, and as many after it unless causal"},
    {"attention_mask", kUnread, "None"},
    {"query_mask", kUnread, "None"},
    {"value_mask", kUnread, "None"},
    {"key_mask", kUnread, "None"},
    {"attention_axes", kUnread, "None"},
    {"num_heads", kNothing, "None"},
    {"key_dim", kNothing, "None"},
    {"value_dim", kNothing, "None"},
    {"head_dim", kNothing, "None"},
    {"num_query_heads", kNothing, "None"},
    {"num_key_value_heads", kNothing, "None"},
    {"dropout", kNothing, "0.0"},
    {"use_bias", kNothing, "True"},
    {"use_gate", kNothing, "False"},
    {"output_shape", kNothing, "None"},
    {"flash_attention", kNothing, "None"},
    {"return_attention_scores", kNothing, "False"},
    {"training", kNothing, "None"},
    {"kernel_initializer", kNothing, "None"},
    {"bias_initializer", kNothing, "None"},
    {"kernel_regularizer", kNothing, "None"},
    {"bias_regularizer", kNothing, "None"},
    {"activity_regularizer", kNothing, "None"},
    {"kernel_constraint", kNothing, "None"},
    {"bias_constraint", kNothing, "None"},
    {"seed", kNothing, "None"},
    {"name", kNothing, "None"},
    {"dtype", kNothing, "None"}};

constexpr Convention keras_layer(std::string_view call) {
  return {.call = call,
          .align = Align::kTopLeft,
          .leading = "x, x",
          .names = "query, value, key",
          .arguments = kKerasLayer,
          .overrides = "all conditions are joined by and",
          .source =
              "keras 3.16 src/layers/attention/grouped_query_attention.py, "
              "multi_head_attention.py at 3422977a",
          .written = false};
}
constexpr Convention kKerasCalls[] = {
    {.call = "dot_product_attention",
     .align = Align::kTopLeft,
     .leading = "q, k, v",
     .names = "query, key, value",
     .arguments = kKerasOp,
     .overrides = "all conditions are joined by and",
     .source = "keras 3.16 src/ops/nn.py, src/backend/numpy/ops/nn.py at 3422977a",
     .spelled = "keras.ops.dot_product_attention"},
    keras_layer("GroupQueryAttention"),
    keras_layer("MultiHeadAttention")};

Chain read_keras(const Library& library, std::string_view text) {
  return chain_of_masked_call(read_library_source(library, text), "mask");
}

constexpr WindowConvention kKerasWindows[] = {
    {"keras layers, causal", "sliding_window=W, use_causal_mask=True", WindowRule::kKeys,
     "grouped_query_attention.py: abs(row - col) < W, and causal"},
    {"keras layers", "sliding_window=W", WindowRule::kKeysBoth,
     "grouped_query_attention.py: abs(row - col) < W"}};

constexpr Library kKeras = {.name = "keras",
                            .title = "Keras",
                            .align = Align::kTopLeft,
                            .empty_row = "the mean of V (a large negative number is filled in)",
                            .dense = "keras.ops.dot_product_attention(q, k, v, mask=mask)",
                            .array = "np.array([{}])",
                            .module = &kNumpyHeadsLast,
                            .calls = kKerasCalls,
                            .windows = kKerasWindows,
                            .reader = read_keras,
                            .writer = write_call_or_mask};

}  // namespace

const Library& row(const Keras*) { return kKeras; }

}  // namespace maskctl::library
