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

constexpr Argument kMhaArguments[] = {{"attn_mask", kNothing, "None"},
                                      {"key_padding_mask", kUnread, "None"},
                                      {"is_causal", kUnread, "False"},
                                      {"need_weights", kNothing, "True"},
                                      {"average_attn_weights", kNothing, "True"}};

/// The call of the module, which has any name; its masks are read as expressions.
constexpr Convention kMhaCall = {.call = "mha",
                                 .align = Align::kTopLeft,
                                 .leading = "query, key, value",
                                 .arguments = kMhaArguments,
                                 .source = "torch.nn.MultiheadAttention.forward",
                                 .written = false};

Chain read_mha(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const Python* given = given_argument(source, "attn_mask");
  if (given) check_arguments(source, kMhaCall, source.text.last);
  const Python mask = given ? resolved(source.text, *given) : source.text.last;
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
                          .reader = read_mha,
                          .writer = write_mha};

}  // namespace

const Library& row(const Mha*) { return kMha; }

}  // namespace maskctl::library
