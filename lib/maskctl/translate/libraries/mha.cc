// torch.nn.MultiheadAttention: a dense mask in which True means closed.
#include "maskctl/mask/steps/not.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kMhaArguments[] = {{"attn_mask", kMask, "None"},
                                      {"key_padding_mask", kUnread, "None"},
                                      {"is_causal", kUnread, "False"},
                                      {"need_weights", kNothing, "True"},
                                      {"average_attn_weights", kNothing, "True"}};
// bias_k, bias_v and add_zero_attn add keys.
constexpr Argument kMhaOfFunction[] = {
    {"bias_k", kUnread, "None"},           {"bias_v", kUnread, "None"},
    {"add_zero_attn", kUnread, "False"},   {"static_k", kUnread, "None"},
    {"static_v", kNothing, "None"},        {"embed_dim_to_check", kNothing, ""},
    {"num_heads", kNothing, ""},           {"in_proj_weight", kNothing, "None"},
    {"in_proj_bias", kNothing, "None"},    {"dropout_p", kNothing, "0.0"},
    {"out_proj_weight", kNothing, "None"}, {"out_proj_bias", kNothing, "None"},
    {"training", kNothing, "True"},        {"use_separate_proj_weight", kNothing, "False"},
    {"q_proj_weight", kNothing, "None"},   {"k_proj_weight", kNothing, "None"},
    {"v_proj_weight", kNothing, "None"},
};
constexpr auto kMhaFunction = joined_lists(kMhaArguments, kMhaOfFunction);

constexpr Convention mha_call(std::string_view call, std::span<const Argument> arguments) {
  return {.call = call,
          .align = Align::kTopLeft,
          .leading = "query, key, value",
          .arguments = arguments,
          .overrides = "is_causal says that attn_mask is causal, and may take its place",
          .source = "torch 2.15 torch/nn/functional.py multi_head_attention_forward",
          .written = false};
}
constexpr Convention kMhaCalls[] = {mha_call("MultiheadAttention.forward", kMhaArguments),
                                    mha_call("multi_head_attention_forward", kMhaFunction)};

Chain read_mha(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const Python* given = given_argument(source, "attn_mask");
  const Python mask = given ? resolved(source.text, *given) : source.text.last;
  const auto rows = rows_of(library, source.text.last.text);
  const bool known = !source.text.last.text.empty() && !rows.empty();
  // a module may be called by any name
  if (given || known)
    check_arguments(source, known ? *rows.front() : kMhaCalls[0], source.text.last);
  if (known && !given) return {};
  if (mask.kind == Python::Kind::kCall && !given) {
    source.fail(mask.position, "expected attn_mask=, where True is closed");
  }
  const bool inverted = mask.kind == Python::Kind::kOperator && mask.text == "~";
  if (inverted) return chain_of_expression(source, mask.items.front(), Align::kTopLeft);
  Chain out = chain_of_expression(source, mask, Align::kTopLeft);
  out.push_back({step::Not{}});
  return out;
}

void write_mha(const Chain& chain, const MaskForm&, const StepName& name, Translation& out) {
  const auto mask = write_dense_mask(chain, name, out);
  if (!mask) return;
  out.code.emplace_back(
      mask->heads || mask->batches
          ? "mha(query, key, value, attn_mask=~mask.expand(q.shape[0], q.shape[1], -1, "
            "-1).flatten(0, 1))"
          : "mha(query, key, value, attn_mask=~mask)");
  out.notes.emplace_back("True is closed here; q and k stand for the sizes only");
}

constexpr Library kMha = {.name = "mha",
                          .title = "torch.nn.MultiheadAttention",
                          .align = Align::kTopLeft,
                          .empty_row = "NaN if weights are requested, else 0 (torch 2.15)",
                          .dense = "mha(q, k, v, attn_mask=~mask) (True is closed)",
                          .array = "torch.tensor([{}], device=q.device)",
                          .module = &kTorch,
                          .calls = kMhaCalls,
                          .reader = read_mha,
                          .writer = write_mha};

}  // namespace

const Library& row(const Mha*) { return kMha; }

}  // namespace maskctl::library
