// SGLang: RadixAttention, causal attention for each request.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kSglangArguments[] = {
    {.name = "sliding_window_size",
     .meaning = kLeft,
     .fallback = "-1",
     .note = "{left} keys before the query's own: a config's sliding_window less one"},
    {"is_cross_attention", kUnread, "False"},
    {"attn_type", kUnread, "AttentionType.DECODER"},
    {"use_irope", kUnread, "False"},
    {"logit_cap", kNothing, "0.0"},
    {"v_head_dim", kNothing, "-1"},
    {"pos_encoding_mode", kNothing, "\"NONE\""},
    {"logit_capping_method", kNothing, "\"tanh\""},
    {"quant_config", kNothing, "None"},
    {"prefix", kNothing, "\"\""}};

constexpr Convention kSglangCalls[] = {
    {.call = "RadixAttention",
     .align = Align::kBottomRight,
     .causal = true,
     .unbounded = "-1",
     .leading = "num_heads, head_dim, scaling, num_kv_heads, layer_id",
     .arguments = kSglangArguments,
     .overrides = "a size of 0 is none: it becomes -1; a document is a request of its own",
     .source = "sglang srt/layers/radix_attention.py at 0088621c, "
               "attention/flashattention_backend.py at 003e7b77: window_size=(size, 0)"}};

void settle_sglang(const LibrarySource&, Index, ParsedCall& call) {
  if (call.left == Index{0}) call.left.reset();
}

void write_sglang(const Chain& chain, const MaskForm& form, const StepName& name,
                  Translation& out) {
  write_call(chain, form, name, out);
  if (out.ok() && form.left == Index{0}) refuse(out, "a sliding_window_size of 0 is no window");
}

constexpr WindowConvention kSglangWindows[] = {
    {"sglang RadixAttention", "sliding_window_size=W", WindowRule::kInclusive,
     "flashattention_backend.py: two side inclusive"},
    {"sglang, a config's keys", "sliding_window=W", WindowRule::kKeys,
     "models' get_attention_sliding_window_size: W - 1"}};

constexpr Library kSglang = {.name = "sglang",
                             .title = "SGLang",
                             .align = Align::kBottomRight,
                             .empty_row = "cannot occur while decoding",
                             .apart = "documents: each is a request of its own",
                             .calls = kSglangCalls,
                             .windows = kSglangWindows,
                             .reader = read_call,
                             .writer = write_sglang,
                             .settle = settle_sglang};

}  // namespace

const Library& row(const Sglang*) { return kSglang; }

}  // namespace maskctl::library
