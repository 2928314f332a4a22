// flash-attn 4: mask functions in CuTe's language, for masks that its arguments cannot express.
#include <fmt/format.h>

#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/cute_text.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"
#include "maskctl/translate/write/cute_code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

Chain read_fa4(const Library& library, std::string_view text) {
  return read_mask_mod({library, text, without_cute(parse_python(text, "expression"))});
}

void write_fa4(const Chain& chain, const MaskForm&, const StepName& name, Translation& out) {
  Formula formula = formula_of(chain, name, *out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  const CuteCode code = cute_code(formula.expression);
  const bool lengths = formula.arrays_read_lengths();
  move_definitions(formula, out);
  if (lengths) out.code.insert(out.code.begin(), std::string(kTorchHeadsLast.lengths));
  out.code.emplace_back("@cute.jit");
  out.code.emplace_back("def mask_mod(b, h, q_idx, kv_idx, seqlen_info, aux_tensors):");
  for (const std::string& line : code.lines) out.code.push_back("    " + line);
  std::string arrays;
  for (const std::string& array : code.arrays) {
    arrays += fmt::format("{}{}.to(torch.int32)", arrays.empty() ? "" : ", ", array);
  }
  out.code.push_back(fmt::format("flash_attn_func(q, k, v, mask_mod=mask_mod{})",
                                 arrays.empty() ? "" : ", aux_tensors=[" + arrays + "]"));
  if (code.rounds) {
    out.notes.emplace_back(
        "// and % of numbers below 0 are written as Python rounds them; what CuTe does was not "
        "read");
  }
}

constexpr Argument kFa4Arguments[] = {{"mask_mod", kMask, "None"},
                                      {"aux_tensors", kNothing, "None"}};

constexpr Convention kFa4Calls[] = {
    {.call = "flash_attn_func",
     .module = "cute",
     .align = Align::kTopLeft,
     .leading = "q, k, v",
     .arguments = kFa4Arguments,
     .overrides = "causal and window_size, as fa has them, close cells of it",
     .source = "flash-attention 0251105a tests/cute/mask_mod_definitions.py",
     .written = false}};

constexpr Library kFa4 = {.name = "fa4",
                          .title = "flash-attn 4, mask_mod",
                          .empty_row = "0 (documented)",
                          .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
                          .module = &kTorchHeadsLast,
                          .calls = kFa4Calls,
                          .reader = read_fa4,
                          .writer = write_fa4};

}  // namespace

const Library& row(const Fa4*) { return kFa4; }

}  // namespace maskctl::library
