// vLLM: causal attention for each request, in which the tokens of an image may all see each other.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "maskctl/mask/steps/tokens.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kVllmOthers[] = {
    {"num_kv_heads", kNothing, "None"},    {"alibi_slopes", kNothing, "None"},
    {"cache_config", kNothing, "None"},    {"quant_config", kNothing, "None"},
    {"logits_soft_cap", kNothing, "None"}, {"use_mla", kNothing, "False"},
    {"prefix", kNothing, "\"\""},          {"kv_sharing_target_layer_name", kNothing, "None"},
    {"attn_backend", kNothing, "None"},    {"use_alibi_sqrt", kNothing, "None"},
    {"head_size_v", kNothing, "None"},     {"sinks", kNothing, "None"},
};
constexpr Argument kVllmDecoder[] = {{"attn_type", kUnread, "AttentionType.DECODER"},
                                     {"chunk_lookback", kUnread, "-1"}};
constexpr Argument kVllmOwnWindow[] = {
    {.name = "per_layer_sliding_window", .meaning = kKeys, .fallback = "None", .note = kKeysNote}};
constexpr Argument kVllmOwnChunk[] = {{"attention_chunk_size", kChunk, ""}};
constexpr Argument kVllmAround[] = {
    {.name = "attn_type", .fallback = "", .text = "AttentionType.ENCODER_ONLY"},
    {.name = "per_layer_sliding_window",
     .meaning = kKeysAround,
     .fallback = "None",
     .note = "{left} keys on either side: {keys} minus one"}};
constexpr auto kVllmWindow = joined_lists(kVllmOwnWindow, kVllmOthers, kVllmDecoder);
constexpr auto kVllmChunk = joined_lists(kVllmOwnChunk, kVllmOthers);
constexpr auto kVllmEncoder = joined_lists(kVllmAround, kVllmOthers);
constexpr Argument kVllmConfig[] = {{"sliding_window", kKeys, "None"}};

constexpr Convention vllm_call(std::string_view call, bool causal,
                               std::span<const Argument> arguments, std::string_view source) {
  return {.call = call,
          .align = Align::kBottomRight,
          .causal = causal,
          .unbounded = "None",
          .leading = "num_heads, head_size, scale",
          .arguments = arguments,
          .overrides =
              "a document is a request of its own; without per_layer_sliding_window that "
              "of cache_config counts",
          .source = source};
}
/// The keys of a model's config. They are read but never written.
constexpr Convention vllm_config() {
  Convention out = vllm_call("config", true, kVllmConfig, "vllm#9679: flash-attn gets (W - 1, 0)");
  out.leading = "";
  out.written = false;
  return out;
}
constexpr Convention kVllmCalls[] = {
    vllm_call("Attention", true, kVllmWindow,
              "vllm model_executor/layers/attention/attention.py; vllm#9679: flash-attn gets "
              "(W - 1, 0)"),
    vllm_call("ChunkedLocalAttention", true, kVllmChunk,
              "vllm model_executor/layers/attention/chunked_local_attention.py"),
    vllm_call("EncoderOnlyAttention", false, kVllmEncoder,
              "vllm v1/attention/backends/flash_attn.py: (W - 1, W - 1)"),
    vllm_config()};

constexpr WindowConvention kVllmWindows[] = {
    {"vllm", "sliding_window=W", WindowRule::kKeys, "vllm#9679: gives flash-attn (W - 1, 0)"},
    {"vllm, EncoderOnlyAttention", "per_layer_sliding_window=W", WindowRule::kKeysBoth,
     "flash_attn.py: (W - 1, W - 1)"}};

/// The first and last token of each run of equal types other than 0. Nothing if a type occurs in
/// two runs or if there are several batch entries.
std::optional<std::vector<std::pair<Index, Index>>> spans_of(const Tensor& types) {
  if (types.rank() > 1 && types.extent(0) != 1) return std::nullopt;
  const auto values = as_int32(types, "types");
  std::vector<std::pair<Index, Index>> out;
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<Index>(i);
    if (values[i] == 0) continue;
    if (i > 0 && values[i] == values[i - 1]) {
      out.back().second = at;
    } else if (seen.insert(values[i]).second) {
      out.push_back({at, at});
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// The last step of the chain if it opens the tokens of images to each other; else null.
const step::Tokens* images_of(const Chain& chain) {
  const auto* tokens = chain.empty() ? nullptr : chain.back().get_if<step::Tokens>();
  const bool opens = tokens && tokens->shared && tokens->join == step::Tokens::Join::kUnion &&
                     tokens->zero != step::Tokens::Zero::kNone;
  return opens ? tokens : nullptr;
}

void write_vllm(const Chain& chain, const MaskForm& given, const StepName& name, Translation& out) {
  const step::Tokens* images = images_of(chain);
  const auto spans = images ? spans_of(images->q.array) : std::nullopt;
  const Chain text(chain.begin(), chain.end() - (spans ? 1 : 0));
  const MaskForm form = spans ? mask_form(text, name) : given;
  write_call(text, form, name, out);
  if (!spans || !out.ok()) return;
  std::string ranges;
  Index longest = 0;
  for (const auto& [first, last] : *spans) {
    ranges += fmt::format("{}({}, {})", ranges.empty() ? "" : ", ", first, last);
    longest = std::max(longest, last - first + 1);
  }
  if (form.left && longest > *form.left + 1) {
    return refuse(out, fmt::format("mm_prefix_range leaves out spans longer than the window; one "
                                   "has {} tokens",
                                   longest));
  }
  if (!form.causal()) return refuse(out, "mm_prefix_range belongs to causal attention");
  out.code.push_back(fmt::format("mm_prefix_range = {{0: [{}]}}", ranges));
  out.notes.emplace_back(
      "mm_prefix_range of the attention metadata: spans of request 0, both ends included; vLLM "
      "fills it from the request's images");
}

constexpr Library kVllm = {.name = "vllm",
                           .title = "vLLM",
                           .align = Align::kBottomRight,
                           .empty_row = "cannot occur while decoding",
                           .apart = "documents: each is a request of its own",
                           .calls = kVllmCalls,
                           .windows = kVllmWindows,
                           .reader = read_call,
                           .writer = write_vllm};

}  // namespace

const Library& row(const Vllm*) { return kVllm; }

}  // namespace maskctl::library
