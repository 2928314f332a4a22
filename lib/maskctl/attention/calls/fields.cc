#include "maskctl/attention/calls/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

// Parsing of option values.

[[noreturn]] void refuse_field(const Field& field, std::string_view seen, std::string_view wanted) {
  throw Error(Errc::kInvalidArgument, fmt::format("{}: '{}' is not {}", field.name, seen, wanted));
}

bool is_none(std::string_view text) { return text == "none" || text == "None"; }

template <class T>
void read_number(const Field& field, std::string_view text, std::string_view wanted, T& target) {
  const std::optional<T> number = number_from<T>(text);
  if (!number) refuse_field(field, text, wanted);
  target = *number;
}

template <std::integral T>
void read(const Field& field, std::string_view text, T& target) {
  read_number(field, text, "a whole number", target);
}
/// Reads a seed. A negative one becomes its 32 bits in two's complement, as in JAX.
void read(const Field& field, std::string_view text, std::uint64_t& target) {
  if (!text.starts_with('-')) return read_number(field, text, "a whole number", target);
  std::int32_t negative = 0;
  read_number(field, text, "a whole number of 32 bits", negative);
  target = static_cast<std::uint32_t>(negative);
}
void read(const Field& field, std::string_view text, double& target) {
  read_number(field, text, "a number", target);
  if (std::isnan(target)) refuse_field(field, text, "a number");
}
void read(const Field& field, std::string_view text, bool& target) {
  const bool is_true = text == "true" || text == "True";
  if (!is_true && text != "false" && text != "False") refuse_field(field, text, "true or false");
  target = is_true;
}
void read(const Field& field, std::string_view text, DType& target) {
  const auto type = dtype_from_name(text);
  if (!type) refuse_field(field, text, "a dtype");
  target = *type;
}
/// Reads a window: "2", "2+2", "2,2" and "(2, 2)" are equal; "none" on a side means no limit there.
void read(const Field& field, std::string_view text, Window& target) {
  const auto side = [&](std::string_view part) {
    std::optional<Index> keys;
    if (!is_none(part)) read_number(field, part, "a whole number", keys.emplace());
    return keys;
  };
  std::string tight(text);
  std::erase(tight, ' ');
  std::string_view sides = tight;
  const bool is_tuple = sides.starts_with('(') && sides.ends_with(')');
  if (is_tuple) sides = sides.substr(1, sides.size() - 2);
  constexpr std::string_view kMarks = "+,";
  const std::size_t mark = sides.find_first_of(kMarks);
  const std::string_view left = sides.substr(0, mark);
  const std::string_view right = mark == sides.npos ? left : sides.substr(mark + 1);
  if (right.find_first_of(kMarks) != right.npos) refuse_field(field, text, "a window as 4 or 4+0");
  target = Window(side(left), side(right));
}
void read(const Field&, std::string_view text, std::string& target) { target = text; }
/// Reads a word of an enumeration.
void read(const Field& field, std::string_view text, std::uint8_t& target) {
  const auto found = std::ranges::find(field.words, text);
  if (found == field.words.end()) {
    refuse_field(field, text, fmt::format("one of {}", joined(field.words, ", ")));
  }
  target = static_cast<std::uint8_t>(found - field.words.begin());
}
template <class T>
void read(const Field& field, std::string_view text, std::optional<T>& target) {
  if constexpr (std::is_same_v<T, Window>) {
    read(field, text, target.emplace(Index{0}));
  } else {
    read(field, text, target.emplace());
  }
}
template <class T>
void read(const Field& field, std::string_view text, T&) {
  refuse_field(field, text, "an option; it is an array or a mask");
}

// Text of values in cache keys.

template <class Number>
void append_number(std::string& key, Number value) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value);
  key.append(digits.begin(), end);
}

void begin(std::string& key, std::string_view name) {
  if (!key.empty()) key += ' ';
  key.append(name) += '=';
}

void append_array(std::string& key, std::string_view name, std::string_view kind,
                  std::span<const Index> shape) {
  begin(key, name);
  key.append(kind) += '[';
  for (const Index extent : shape) {
    if (key.back() != '[') key += ',';
    append_number(key, extent);
  }
  key += ']';
}

void append(std::string& key, const Field& field, const Tensor* array) {
  if (array) append_array(key, field.name, name(array->dtype()), array->shape());
}
void append(std::string& key, const Field& field, const Mask* mask) {
  if (!mask) return;
  append_array(key, field.name, "mask",
               std::array{mask->batch(), mask->heads(), mask->queries(), mask->keys()});
}
void append(std::string& key, const Field& field, const BlockMap* map) {
  if (!map) return;
  append_array(key, field.name, "map", std::array{map->plane()->queries(), map->plane()->keys()});
}
void append(std::string& key, const Field& field, const StaticMask& mask) {
  if (mask) begin(key, field.name), key += "true";
}
template <class Number>
requires std::is_arithmetic_v<Number>
void append_value(std::string& key, const Field&, Number value) { append_number(key, value); }
void append_value(std::string& key, const Field&, bool value) { key += value ? "true" : "false"; }
void append_value(std::string& key, const Field&, DType value) { key += name(value); }
void append_value(std::string& key, const Field& field, std::uint8_t value) {
  key += field.words[value];
}
void append_value(std::string& key, const Field&, const std::string& value) { key += value; }
void append_value(std::string& key, const Field&, const Window& window) {
  const auto side = [&key](const std::optional<Index>& keys) {
    keys ? append_number(key, *keys) : void(key += "none");
  };
  side(window.left), key += '+', side(window.right);
}
template <class T>
void append_value(std::string& key, const Field& field, const std::optional<T>& value) {
  value ? append_value(key, field, *value) : void(key += "none");
}
/// Appends an option unless it is equal to `usual`, its default.
template <class T>
void append(std::string& key, const Field& field, const T& value, const T& usual) {
  if (value == usual) return;
  begin(key, field.name);
  append_value(key, field, value);
}

}  // namespace

bool Operation::takes_mask() const {
  return std::ranges::any_of(fields, [this](const Field& field) {
    return visit_member(field, empty_call(), [](const auto& member) {
      return std::is_same_v<std::decay_t<decltype(member)>, const Mask*>;
    });
  });
}

const Field* Operation::find(std::string_view argument, bool is_array) const {
  const auto found = std::ranges::find_if(fields, [&](const Field& field) {
    const bool named = field.name == argument || (!argument.empty() && field.alias == argument);
    return named && field.is_array == is_array && field.listed();
  });
  return found == fields.end() ? nullptr : &*found;
}

const Tensor* array_of(const Field& field, const void* call) {
  return visit_member(field, call, [](const auto& member) -> const Tensor* {
    if constexpr (std::is_convertible_v<decltype(member), const Tensor*>) {
      return member;
    } else {
      return nullptr;
    }
  });
}

std::vector<ResultArray> arrays_of(std::span<const ResultField> fields, void* result) {
  std::vector<ResultArray> arrays;
  for (const ResultField& field : fields) {
    if (Tensor* const array = field.array(result))
      arrays.push_back({field.name, field.axes, array});
  }
  return arrays;
}

std::string_view axes_of(const Field& field, const void* call) {
  return field.axes_in ? field.axes_in(call) : field.axes;
}

void read_text(const Field& field, std::string_view text, void* call) {
  if (is_none(text)) return;
  visit_member(field, call, [&](auto& member) { read(field, text, member); });
}

std::string call_key(const Operation& operation, const void* call) {
  std::string key;
  key.reserve(256);
  void* const usual = const_cast<void*>(operation.empty_call());  // NOLINT: only read here
  for (const Field& field : operation.fields) {
    if (field.is(kHint)) continue;
    visit_member(field, call, [&](const auto& member) {
      using Member = std::decay_t<decltype(member)>;
      if constexpr (requires { append(key, field, member); }) {
        append(key, field, member);
      } else {
        append(key, field, member, *std::get<Member*>(field.slot(usual)));
      }
    });
  }
  const Backend backend = operation.backend_of(call);
  if (backend != Backend::kCpu) key.append(" backend=").append(name(backend));
  return key;
}

}  // namespace maskctl::attention
