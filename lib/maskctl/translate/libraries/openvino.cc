// OpenVINO's operation ScaledDotProductAttention.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kOpenvinoArguments[] = {{"attention_mask", kMask, "None"},
                                           {"causal", kCausal, "False"},
                                           {"scale", kNothing, "None"},
                                           {"sink", kNothing, "None"},
                                           {"name", kNothing, "None"}};

constexpr Convention kOpenvinoCalls[] = {
    {.call = "scaled_dot_product_attention",
     .align = Align::kTopLeft,
     .leading = "q, k, v",
     .names = "query, key, value",
     .arguments = kOpenvinoArguments,
     .overrides = "with causal, attention_mask is ignored",
     .source = "openvino operation-specs/sequence/scaled-dot-product-attention.rst, opset 13, at "
               "16a2c39c"}};

Chain read_openvino(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  Chain causal = chain_of_call(source);
  const Python* given = given_argument(source, "attention_mask");
  if (!given || !causal.empty()) return causal;
  Python mask = resolved(source.text, *given);
  while (mask.kind == Python::Kind::kSubscript && mask.items.back().is_word("None")) {
    mask = resolved(source.text, mask.items.front());  // mask[None, None], which has 4 axes
  }
  return chain_of_expression(source, mask, Align::kTopLeft);
}

void write_openvino_mask(const Chain& chain, const StepName& name, Translation& out) {
  const auto axes = write_dense_mask(chain, name, out);
  if (!axes) return;
  const bool whole = axes->batches || axes->heads;
  out.code.push_back(whole ? "scaled_dot_product_attention(q, k, v, attention_mask=mask)"
                           : std::string(out.library->dense));
}

void write_openvino(const Chain& chain, const MaskForm& form, const StepName& name,
                    Translation& out) {
  write_call_or_dense(chain, form, name, out, write_openvino_mask);
}

constexpr Library kOpenvino = {
    .name = "openvino",
    .title = "OpenVINO ScaledDotProductAttention",
    .align = Align::kTopLeft,
    .empty_row = "not stated",
    .dense = "scaled_dot_product_attention(q, k, v, attention_mask=mask[None, None])",
    .array = "np.array([{}])",
    .module = &kNumpy,
    .calls = kOpenvinoCalls,
    .reader = read_openvino,
    .writer = write_openvino};

}  // namespace

const Library& row(const Openvino*) { return kOpenvino; }

}  // namespace maskctl::library
