#include "maskctl/mask/steps/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {

NamedArray fields::numbers(const std::vector<Index>& values) {
  Tensor out(DType::kInt64, {std::ssize(values)});
  std::ranges::copy(values, out.as<Index>().begin());
  return {std::move(out), list_text(values)};
}

std::string list_text(std::span<const Index> values) {
  constexpr Index kRepeated = 8;
  std::string out;
  while (!values.empty()) {
    const auto other = std::ranges::find_if(values, [&](Index v) { return v != values.front(); });
    const Index times = other - values.begin();
    for (Index i = 0; i < (times < kRepeated ? times : 1); ++i) {
      if (!out.empty()) out += '+';
      out += std::to_string(values.front());
    }
    if (times >= kRepeated) out += fmt::format("*{}", times);
    values = values.subspan(as_size(times));
  }
  return out;
}

bool is_list_text(std::string_view text) {
  return !text.empty() && is_digit(text.front()) && is_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || c == '+' || c == '*'; });
}

std::string real_text(double value) {
  char text[32];
  const auto result = std::to_chars(text, text + sizeof text, value);
  return {text, result.ptr};
}

namespace {

struct ValueText {
  const Field& field;

  using Text = std::optional<std::string>;
  Text operator()(std::monostate) const { return {}; }
  Text operator()(Index value) const {
    if (field.type != FieldType::kChoice) return std::to_string(value);
    return std::string(split(field.choices, '|')[as_size(value)]);
  }
  Text operator()(double value) const { return real_text(value); }
  Text operator()(std::uint64_t value) const { return std::to_string(value); }
  Text operator()(const std::vector<Index>& values) const { return list_text(values); }
  Text operator()(const std::vector<Range>& ranges) const { return ranges_text(ranges); }
  Text operator()(const Range& range) const { return range_text(range); }
  Text operator()(const BlockSize& size) const { return fmt::format("{}x{}", size.q, size.k); }
  Text operator()(const NamedArray& array) const {
    if (!array.text.empty()) return array.text;
    if (field.type == FieldType::kSource) return {};
    return list_text(as_int64(array.array, "numbers"));
  }
  Text operator()(const NamedMask& mask) const {
    return mask.text.empty() ? Text() : Text(mask.text);
  }
};

}  // namespace

std::optional<std::string> value_text(const Field& field, const FieldValue& value) {
  return std::visit(ValueText{field}, value);
}

bool takes_list(const Field& field) {
  return field.type == FieldType::kIntegerOrSource || field.type == FieldType::kSideOrSource ||
         field.type == FieldType::kLengths;
}

bool same_content(const FieldValue& a, const FieldValue& b) {
  if (const auto* x = std::get_if<NamedArray>(&a)) {
    const auto* y = std::get_if<NamedArray>(&b);
    if (!y || x->array.shape() != y->array.shape()) return false;
    return same_elements(x->array, y->array) ||
           as_int64(x->array, "values") == as_int64(y->array, "values");
  }
  if (const auto* x = std::get_if<NamedMask>(&a)) {
    const auto* y = std::get_if<NamedMask>(&b);
    return y && same_shape(x->mask, y->mask) && differing_cells(x->mask, y->mask) == 0;
  }
  return true;
}

}  // namespace maskctl
