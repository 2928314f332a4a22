// jax.nn.dot_product_attention: its arguments and a dense mask; a cell is open if all of them open
// it.
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/query_lengths.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kJaxArguments[] = {{"mask", kMask, "None"},
                                      {"is_causal", kCausal, "False"},
                                      {"local_window_size", kSidesOrBoth, "None"},
                                      {"query_seq_lengths", kValidQueries, "None"},
                                      {"key_value_seq_lengths", kValidKeys, "None"},
                                      {"scale", kNothing, "None"},
                                      {"bias", kUnread, "None"},
                                      {"implementation", kNothing, "None"},
                                      {"return_residual", kNothing, "False"}};

constexpr Convention kJaxCalls[] = {{.call = "dot_product_attention",
                                     .align = Align::kTopLeft,
                                     .unbounded = kPastAll,
                                     .leading = "q, k, v",
                                     .names = "query, key, value",
                                     .arguments = kJaxArguments,
                                     .overrides = "all conditions are joined by and",
                                     .source = "jax/_src/nn/functions.py _apply_masks"}};

/// Removes query_seq_lengths from the call and returns the step for it. Nothing if the keys have
/// the same lengths: then one padding step stands for both.
std::optional<Step> query_step(const LibrarySource& source, Python& call) {
  const Python* queries = given_argument(source, "query_seq_lengths");
  const Python* keys = given_argument(source, "key_value_seq_lengths");
  const auto lengths = queries ? numbers_in(source.text, *queries) : std::nullopt;
  if (!lengths || (keys && numbers_in(source.text, *keys) == lengths)) return std::nullopt;
  std::erase_if(call.named,
                [](const NamedPython& entry) { return entry.first == "query_seq_lengths"; });
  return step::QueryLengths{fields::numbers(*lengths)};
}

Chain read_jax(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  Python call = source.text.last;
  const std::optional<Step> queries = query_step(source, call);
  Chain out;
  if (const Python* dense = given_argument(source, "mask")) {
    out = chain_of_expression(source, *dense, Align::kTopLeft);
  }
  // The arguments of the call only close cells, so their steps can follow the dense mask.
  append(out, chain_of_call(source, call));
  if (queries) out.push_back(*queries);
  return out;
}

void write_jax_dense(const Chain& chain, const StepName& name, Translation& out) {
  if (write_dense_mask(chain, name, out)) {
    out.code.emplace_back("dot_product_attention(q, k, v, mask=mask)");
  }
}

void write_jax(const Chain& chain, const MaskForm& form, const StepName& name, Translation& out) {
  write_call_or_dense(chain, form, name, out, write_jax_dense);
}

constexpr Library kJax = {.name = "jax",
                          .title = "jax.nn.dot_product_attention",
                          .align = Align::kTopLeft,
                          .empty_row = "the mean of V (a large negative number is added)",
                          .padded_row = "0: a query past query_seq_lengths",
                          .dense = "dot_product_attention(q, k, v, mask=mask[None, None])",
                          .array = "jnp.array([{}], jnp.int32)",
                          .module = &kJaxNumpy,
                          .calls = kJaxCalls,
                          .reader = read_jax,
                          .writer = write_jax};

}  // namespace

const Library& row(const Jax*) { return kJax; }

}  // namespace maskctl::library
