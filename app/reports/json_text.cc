// Writes JSON for human readers: short arrays and objects without nesting take one line.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/reports/json_value.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {
namespace {

using Parsed = nlohmann::ordered_json;

constexpr std::size_t kWidth = 100;

void append_escape(std::uint32_t unit, std::string& out) { out += fmt::format("\\u{:04x}", unit); }

/// A string as JSON that is safe to show: what printable() escapes is escaped as JSON does, and
/// bytes that are not UTF-8 (from file names) become U+FFFD.
std::string string_text(const std::string& text) {
  const std::string whole = Parsed(text).dump(-1, ' ', false, Parsed::error_handler_t::replace);
  std::string out;
  for (std::string_view left = whole; !left.empty();) {
    const CodePoint first = first_code_point(left);
    const auto code = static_cast<std::uint32_t>(first.code);
    if (is_printable(first.code)) {
      out += left.substr(0, first.bytes);
    } else if (code < 0x10000) {
      append_escape(code, out);
    } else {
      append_escape(0xD7C0 + (code >> 10), out);
      append_escape(0xDC00 + (code & 0x3FF), out);
    }
    left.remove_prefix(first.bytes);
  }
  return out;
}

/// The text of a string, number, bool or null.
std::string scalar_text(const Json& scalar) {
  const auto text = [](const auto& value) -> std::string {
    if constexpr (!std::is_class_v<std::decay_t<decltype(value)>>) return Parsed(value).dump();
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      return string_text(value);
    }
    return "";  // not reached: arrays and objects are not scalars
  };
  return std::visit(text, scalar.value());
}

bool is_structured(const Json& value) { return value.items() || value.members(); }

/// Calls visit(label, item) for each item of an array (with an empty label) or each member of an
/// object.
template <class Visit>
void for_each_part(const Json& value, Visit&& visit) {
  if (value.items()) {
    for (const Json& item : *value.items()) visit(std::string(), item);
    return;
  }
  for (const auto& [key, item] : *value.members()) visit(scalar_text(key) + ": ", item);
}

bool is_flat(const Json& value) {
  return value.items()
             ? std::ranges::none_of(*value.items(), is_structured)
             : std::ranges::none_of(*value.members(), is_structured, &Json::Member::value);
}

void newline(std::string& out, std::size_t indent) { out.append("\n").append(indent, ' '); }

/// Writes an array of scalars with as many on each line as fit.
void write_filled(std::string& out, const Json::Items& items, std::size_t indent) {
  out += '[';
  std::size_t column = kWidth;
  for (const Json& item : items) {
    const std::string text = scalar_text(item);
    if (&item != &items.front()) out += ',';
    if (column + text.size() + 2 > kWidth) {
      newline(out, indent + 2);
      column = indent + 2;
    } else {
      out += ' ';
    }
    out += text;
    column += text.size() + 2;
  }
  newline(out, indent);
  out += ']';
}

void write(std::string& out, const Json& value, std::size_t indent);

void write_parts(std::string& out, const Json& value, std::size_t indent) {
  char before = value.items() ? '[' : '{';
  for_each_part(value, [&](const std::string& label, const Json& item) {
    out += std::exchange(before, ',');
    newline(out, indent + 2);
    out += label;
    write(out, item, indent + 2);
  });
  newline(out, indent);
  out += value.items() ? ']' : '}';
}

/// An array or object on one line, spaced as Python does: [1, 2] and {"q": 1, "k": 2}.
std::string spaced(const Json& flat) {
  std::string out;
  for_each_part(flat, [&](const std::string& label, const Json& item) {
    out += (out.empty() ? "" : ", ") + label + scalar_text(item);
  });
  return flat.items() ? "[" + out + "]" : "{" + out + "}";
}

void write(std::string& out, const Json& value, std::size_t indent) {
  if (!is_structured(value)) {
    out += scalar_text(value);
    return;
  }
  if (!is_flat(value)) return write_parts(out, value, indent);
  const std::string line = spaced(value);
  if (indent > 0 && indent + line.size() <= kWidth) {
    out += line;
  } else if (value.items()) {
    write_filled(out, *value.items(), indent);
  } else {
    write_parts(out, value, indent);
  }
}

}  // namespace

std::string text_of(const Json& json) {
  std::string out;
  write(out, json, 0);
  return out + "\n";
}

}  // namespace maskctl::app
