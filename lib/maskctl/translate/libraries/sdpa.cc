// torch's scaled_dot_product_attention: is_causal, a CausalBias, or a dense mask.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kSdpaArguments[] = {{"attn_mask", kMask, "None"},
                                       {"is_causal", kCausal, "False"},
                                       {"dropout_p", kNothing, "0.0"},
                                       {"scale", kNothing, "None"},
                                       {"enable_gqa", kNothing, "False"}};

constexpr Convention kSdpaCalls[] = {{.call = "scaled_dot_product_attention",
                                      .align = Align::kTopLeft,
                                      .leading = "q, k, v",
                                      .names = "query, key, value",
                                      .arguments = kSdpaArguments,
                                      .overrides = "attn_mask and is_causal together are refused",
                                      .source = "torch scaled_dot_product_attention"},
                                     {.call = "causal_upper_left",
                                      .align = Align::kTopLeft,
                                      .causal = true,
                                      .leading = "Q_LEN, KV_LEN",
                                      .source = "torch.nn.attention.bias"},
                                     {.call = "causal_lower_right",
                                      .align = Align::kBottomRight,
                                      .causal = true,
                                      .leading = "Q_LEN, KV_LEN",
                                      .source = "torch.nn.attention.bias"}};

Chain read_sdpa(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const Python* given = given_argument(source, "attn_mask");
  const Python* causal = given_argument(source, "is_causal");
  if (given && causal && resolved(source.text, *causal).is_word("True")) {
    source.fail(causal->position, "attn_mask and is_causal together are refused by torch");
  }
  if (given) check_arguments(source, kSdpaCalls[0], source.text.last);
  const Python mask = given ? resolved(source.text, *given) : source.text.last;
  const std::string_view name = last_name(mask.text);
  const bool call = mask.kind == Python::Kind::kCall;
  const bool attention = mask.text.empty() || name == "scaled_dot_product_attention";
  if (call && (attention || name.starts_with("causal_"))) return chain_of_call(source, mask);
  return chain_of_expression(source, mask, Align::kTopLeft);
}

constexpr Library kSdpa = {
    .name = "sdpa",
    .title = "torch scaled_dot_product_attention",
    .align = Align::kTopLeft,
    .empty_row =
        "0 (torch 2.15; NaN in older versions); a float mask of f16's minimum gives the "
        "unmasked row",
    .dense = "scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    .array = "torch.tensor([{}], device=q.device)",
    .use = "scaled_dot_product_attention(q, k, v, attn_mask={})",
    .module = &kTorch,
    .calls = kSdpaCalls,
    .reader = read_sdpa,
    .writer = write_call_or_mask};

}  // namespace

const Library& row(const Sdpa*) { return kSdpa; }

}  // namespace maskctl::library
