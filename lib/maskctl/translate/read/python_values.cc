// Evaluates parsed Python: looks up names, does arithmetic on numbers, extracts lists.
#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/translate/read/python_text.h"

namespace maskctl {
namespace {

constexpr int kMostNames = 64;  // the longest chain of names that refer to names

/// The result of an arithmetic operator; nothing for other operators, and for results beyond 32
/// bits.
std::optional<Index> arithmetic(std::string_view sign, Index a, Index b) {
  std::optional<Index> out;
  if (sign == "+") out = a + b;
  if (sign == "-") out = a - b;
  if (sign == "*") out = checked_mul(a, b);
  if (sign == "//" && b > 0) out = floor_div(a, b);
  if (sign == "%" && b > 0) out = a - floor_div(a, b) * b;
  const bool shifts = (sign == "**" && a == 2) || (sign == "<<" && a >= 0 && a <= 1);
  if (shifts && b >= 0 && b < 31) out = (sign == "**" ? Index{1} : a) << b;
  if (out && (*out > kMaxArgument || *out < -kMaxArgument)) return std::nullopt;
  return out;
}

Python resolved_in(const PythonText& text, const Python& value, int depth);
std::optional<std::vector<Index>> numbers_at(const PythonText& text, const Python& value,
                                             int depth);

std::optional<Index> number_at(const PythonText& text, const Python& value, int depth) {
  if (depth > kMostNames) return std::nullopt;
  const Python out = resolved_in(text, value, depth);
  return out.kind == Python::Kind::kNumber ? std::optional(out.number) : std::nullopt;
}

Python resolved_in(const PythonText& text, const Python& value, int depth) {
  Python out = named_value(text, value);
  if (out.kind != Python::Kind::kOperator || out.items.empty()) return out;
  const auto first = number_at(text, out.items.front(), depth + 1);
  std::optional<Index> result;
  if (out.items.size() == 1 && first && out.text == "-") result = -*first;
  if (out.items.size() == 2 && first) {
    const auto second = number_at(text, out.items.back(), depth + 1);
    if (second) result = arithmetic(out.text, *first, *second);
  }
  if (!result) return out;
  Python number;
  number.kind = Python::Kind::kNumber;
  number.number = *result;
  number.position = value.position;
  return number;
}

std::optional<std::vector<Index>> numbers_at(const PythonText& text, const Python& value,
                                             int depth) {
  if (depth > kMostNames) return std::nullopt;
  const Python out = resolved_in(text, value, depth);
  static constexpr std::string_view kMakers[] = {"tensor", "array", "asarray",   "int32",  "int64",
                                                 "to",     "cuda",  "to_tensor", "reshape"};
  if (out.kind == Python::Kind::kCall && !out.items.empty()) {
    const std::string_view name = std::string_view(out.text).substr(out.text.rfind('.') + 1);
    // repeat() and expand() of a single number are read as that number: each batch entry has that
    // length.
    const bool repeats = name == "repeat" || name == "expand";
    if (!repeats && std::ranges::find(kMakers, name) == std::end(kMakers)) return std::nullopt;
    auto numbers = numbers_at(text, out.items.front(), depth + 1);
    if (repeats && numbers && numbers->size() != 1) return std::nullopt;
    return numbers;
  }
  if (out.kind != Python::Kind::kList) return std::nullopt;
  std::vector<Index> numbers;
  for (const Python& item : out.items) {
    const auto number = number_at(text, item, depth + 1);
    const bool flag = item.is_word("True") || item.is_word("False");
    if (!number && !flag) return std::nullopt;
    numbers.push_back(number ? *number : item.is_word("True") ? 1 : 0);
  }
  return numbers;
}

}  // namespace

const Python& named_value(const PythonText& text, const Python& value) {
  const Python* out = &value;
  for (int steps = 0; steps < 16; ++steps) {
    // flash-attn 4 writes a number as utils.scalar_to_ssa(number, type).
    const bool number = out->kind == Python::Kind::kCall && !out->items.empty() &&
                        last_name(out->text) == "scalar_to_ssa";
    const auto found =
        out->kind == Python::Kind::kWord ? text.names.find(out->text) : text.names.end();
    if (!number && found == text.names.end()) break;
    out = number ? &out->items.front() : &found->second;
  }
  return *out;
}

Python resolved(const PythonText& text, const Python& value) { return resolved_in(text, value, 0); }
std::optional<Index> number_in(const PythonText& text, const Python& value) {
  return number_at(text, value, 0);
}
std::optional<std::vector<Index>> numbers_in(const PythonText& text, const Python& value) {
  return numbers_at(text, value, 0);
}

}  // namespace maskctl
