#include "maskctl/attention/runtime/call_text.h"

#include <array>
#include <charconv>
#include <initializer_list>

namespace maskctl::attention {
namespace {

template <class Number>
void append(std::string& text, Number value) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value);
  text.append(digits.begin(), end);
}

void append_shape(std::string& text, std::span<const Index> shape) {
  char separator = '[';
  for (const Index extent : shape) {
    text += separator;
    append(text, extent);
    separator = ',';
  }
  text += shape.empty() ? "[]" : "]";
}

}  // namespace

void CallText::begin(std::string_view name) {
  if (!text_.empty()) text_ += ' ';
  text_ += name;
  text_ += '=';
}

void CallText::add(std::string_view name, const Tensor* tensor) {
  if (!tensor) return;
  begin(name);
  text_ += maskctl::name(tensor->dtype());
  append_shape(text_, tensor->shape());
}

void CallText::add(std::string_view name, const Mask* mask) {
  if (!mask) return;
  begin(name);
  text_ += "mask";
  append_shape(text_, std::array{mask->batch(), mask->heads(), mask->queries(), mask->keys()});
}

void CallText::add(std::string_view name, const BlockMap* map) {
  if (!map) return;
  begin(name);
  text_ += "map";
  append_shape(text_, std::array{map->plane()->queries(), map->plane()->keys()});
}

void CallText::add(std::string_view name, bool value) {
  if (!value) return;
  begin(name);
  text_ += '1';
}

void CallText::add(std::string_view name, Index value) {
  begin(name);
  append(text_, value);
}

void CallText::add(std::string_view name, double value) {
  begin(name);
  append(text_, value);
}

void CallText::add(std::string_view name, std::string_view value) {
  begin(name);
  text_ += value;
}

}  // namespace maskctl::attention
