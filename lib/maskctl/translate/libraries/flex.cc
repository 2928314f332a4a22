// PyTorch's FlexAttention: a function of q_idx and kv_idx.
#include <fmt/format.h>

#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

Chain read_flex(const Library& library, std::string_view text) {
  return read_mask_mod({library, text, parse_python(text, "expression")});
}

void write_flex(const Chain& chain, const MaskForm&, const StepName& name, Translation& out) {
  Formula formula = formula_of(chain, name, *out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  const std::string expression = formula.expression;
  const std::string batch = formula.batches ? "q.shape[0]" : "None";
  const std::string heads = formula.heads ? "q.shape[1]" : "None";
  const std::string lengths =
      formula.tokens ? fmt::format("{0}, {0}", *formula.tokens) : "Q_LEN, KV_LEN";
  const bool reads = formula.reads_lengths();
  if (reads || !formula.tokens) out.code.emplace_back(kTorch.lengths);
  move_definitions(formula, out);
  out.code.emplace_back("def mask_mod(b, h, q_idx, kv_idx):");
  out.code.push_back("    return " + expression);
  out.code.push_back(
      fmt::format("block_mask = create_block_mask(mask_mod, {}, {}, {}, device=q.device)", batch,
                  heads, lengths));
}

constexpr Argument kFlexArguments[] = {
    {"score_mod", kMask, "None"},        {"block_mask", kMask, "None"},
    {"scale", kNothing, "None"},         {"enable_gqa", kNothing, "False"},
    {"return_lse", kNothing, "False"},   {"return_aux", kNothing, "None"},
    {"kernel_options", kNothing, "None"}};

/// The call, whose masks are functions.
constexpr Convention kFlexCalls[] = {{.call = "flex_attention",
                                      .align = Align::kTopLeft,
                                      .leading = "query, key, value",
                                      .arguments = kFlexArguments,
                                      .overrides =
                                          "the mask is the mask_mod of block_mask in the blocks "
                                          "that it lists",
                                      .source = "torch.nn.attention.flex_attention",
                                      .written = false}};

constexpr WindowConvention kFlexWindows[] = {
    {"flex, attention-gym", "generate_sliding_window(W)", WindowRule::kInclusive,
     "sliding_window.py: q - kv <= W"},
    {"flex, attention-gym global and dilated; fa (W, W)", "window_size=(W, W)", WindowRule::kBoth,
     "global_sliding_window.py"}};

constexpr Library kFlex = {.name = "flex",
                           .title = "PyTorch FlexAttention",
                           .empty_row = "0; NaN with ROWS_GUARANTEED_SAFE (pytorch#194154)",
                           .dense = "lambda b, h, q_idx, kv_idx: mask[q_idx, kv_idx]",
                           .array = "torch.tensor([{}], device=q.device)",
                           .module = &kTorch,
                           .calls = kFlexCalls,
                           .windows = kFlexWindows,
                           .reader = read_flex,
                           .writer = write_flex};

}  // namespace

const Library& row(const Flex*) { return kFlex; }

}  // namespace maskctl::library
