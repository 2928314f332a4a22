// MLX: mx.fast.scaled_dot_product_attention, whose mask is "causal" or an array.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kMlxArguments[] = {
    {.name = "mask", .meaning = kCausalWord, .fallback = "None", .text = "\"causal\""},
    {"scale", kNothing, "None"},
    {"sinks", kNothing, "None"},
    {"force_fused", kNothing, "False"},
    {"stream", kNothing, "None"}};

constexpr Convention kMlxCalls[] = {
    {.call = "scaled_dot_product_attention",
     .align = Align::kBottomRight,
     .leading = "q, k, v",
     .arguments = kMlxArguments,
     .overrides = "mask may be an array, too: bool, True is open, or additive",
     .source = "mlx 0.32.2 python/src/fast.cpp, mlx/fast.cpp at 846d1762",
     .spelled = "mx.fast.scaled_dot_product_attention"}};

Chain read_mlx(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const Python* given = given_argument(source, "mask");
  if (!given) return chain_of_call(source);
  const Python mask = resolved(source.text, *given);
  if (mask.kind == Python::Kind::kString) return chain_of_call(source);
  check_arguments(source, kMlxCalls[0], source.text.last);
  const bool copied =
      mask.kind == Python::Kind::kCall && last_name(mask.text) == "array" && mask.items.size() == 1;
  return chain_of_expression(source, copied ? mask.items.front() : mask, Align::kTopLeft);
}

constexpr Library kMlx = {
    .name = "mlx",
    .title = "MLX",
    .align = Align::kBottomRight,
    .empty_row = "not stated; its plain code gives the mean of V",
    .dense = "mx.fast.scaled_dot_product_attention(q, k, v, mask=mx.array(mask))",
    .array = "np.array([{}])",
    .module = &kNumpy,
    .calls = kMlxCalls,
    .reader = read_mlx,
    .writer = write_call_or_mask};

}  // namespace

const Library& row(const Mlx*) { return kMlx; }

}  // namespace maskctl::library
