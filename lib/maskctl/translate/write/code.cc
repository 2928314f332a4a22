#include "maskctl/translate/write/code.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/text.h"
#include "maskctl/translate/write/array_module.h"

namespace maskctl {

std::vector<Index> ends_of(std::span<const Index> lengths) {
  std::vector<Index> ends = {0};
  for (const Index length : lengths) ends.push_back(ends.back() + length);
  return ends;
}

std::string array_code(Translation& out, const std::string& name,
                       const std::vector<Index>& values) {
  const std::string_view form = out.library->array;
  if (values.size() <= kListedNumbers) return fmt::format(fmt::runtime(form), joined(values, ", "));
  Tensor array(DType::kInt32, {static_cast<Index>(values.size())});
  std::ranges::transform(values, array.as<std::int32_t>().begin(),
                         [](Index n) { return static_cast<std::int32_t>(n); });
  out.arrays.push_back({name, std::move(array)});
  std::string load(form);
  load.replace(load.find("[{}]"), 4, fmt::format("np.load(\"{}.npy\")", name));
  return load;
}

std::string python_name(std::string_view word) {
  static constexpr std::string_view kTaken[] = {
      // Python's keywords
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
      "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if",
      "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
      "while", "with", "yield",
      // names that written code has
      "b", "h", "q", "k", "v", "q_idx", "kv_idx", "Q_LEN", "KV_LEN", "mask", "mask_mod",
      "block_mask", "pattern", "device", "torch", "jnp", "np", "max"};
  const bool taken = std::ranges::find(kTaken, word) != std::end(kTaken);
  return fmt::format("{}{}", word, taken ? "_" : "");
}

void note_batch(std::size_t entries, Translation& out) {
  const std::string text = fmt::format("for a batch of {}", entries);
  if (entries > 1 && std::ranges::find(out.notes, text) == out.notes.end()) {
    out.notes.push_back(text);
  }
}

void refuse(Translation& out, std::string_view why) { out.refusal = why; }

void move_definitions(Formula& formula, Translation& out) {
  std::ranges::move(formula.tensors, std::back_inserter(out.code));
  std::ranges::move(formula.notes, std::back_inserter(out.notes));
  std::ranges::move(formula.arrays, std::back_inserter(out.arrays));
}

std::optional<DenseAxes> write_dense_mask(const Chain& chain, const StepName& name,
                                          Translation& out) {
  Formula formula = formula_of(chain, name, *out.library);
  if (!formula.missing.empty()) {
    refuse(out, formula.missing);
    return std::nullopt;
  }
  const ArrayModule& module = *out.library->module;
  const auto line = [&](std::string_view target, std::string_view length, std::string_view axes) {
    out.code.push_back(
        fmt::format("{} = {}.arange({}{}){}", target, module.name, length, module.device, axes));
  };
  out.code.emplace_back(module.lengths);
  line("q_idx", "Q_LEN", "[:, None]");
  line("kv_idx", "KV_LEN", "[None]");
  if (formula.batches) line("b", "q.shape[0]", "[:, None, None, None]");
  if (formula.heads) line("h", fmt::format("q.shape[{}]", module.head_axis), "[:, None, None]");
  move_definitions(formula, out);
  // An expression without q_idx gives an array of one row. `& (q_idx >= 0)` gives it all rows.
  const bool rows = formula.expression.find("q_idx") != formula.expression.npos;
  out.code.push_back(rows ? "mask = " + formula.expression
                          : fmt::format("mask = ({}) & (q_idx >= 0)", formula.expression));
  return DenseAxes{formula.batches, formula.heads};
}

void write_call_or_dense(const Chain& chain, const MaskForm& form, const StepName& name,
                         Translation& out,
                         void (*write_dense)(const Chain& chain, const StepName& name,
                                             Translation& out)) {
  write_call(chain, form, name, out);
  if (out.ok()) return;
  Translation whole;
  whole.library = out.library;
  whole.empty_row = out.empty_row;
  write_dense(chain, name, whole);
  if (whole.ok()) out = std::move(whole);
}

void write_call_or_mask(const Chain& chain, const MaskForm& form, const StepName& name,
                        Translation& out) {
  write_call_or_dense(chain, form, name, out,
                      [](const Chain& cells, const StepName& names, Translation& code) {
                        if (write_dense_mask(cells, names, code)) {
                          code.code.emplace_back(code.library->dense);
                        }
                      });
}

}  // namespace maskctl
