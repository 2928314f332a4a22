// Writes JSON so that a person can read it: what is flat and short takes one line.
#include "app/reports/json_text.h"

#include <algorithm>

#include "app/reports/json_parts.h"

namespace maskctl::app {
namespace {

constexpr std::size_t kWidth = 100;

/// The text of a value on one line. Bytes of a file name that are not UTF-8 become the replacement
/// character.
std::string line_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_flat(const Json& value) {
  return std::ranges::none_of(value, [](const Json& item) { return item.is_structured(); });
}

void newline(std::string& out, std::size_t indent) { out.append("\n").append(indent, ' '); }

/// Numbers, words and the like, as many on a line as fit.
void write_filled(std::string& out, const Json& array, std::size_t indent) {
  out += '[';
  std::size_t column = kWidth;
  for (const Json& item : array) {
    const std::string text = line_of(item);
    if (&item != &array.front()) out += ',';
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

void write_items(std::string& out, const Json& value, std::size_t indent) {
  const bool object = value.is_object();
  out += object ? '{' : '[';
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    if (!first) out += ',';
    first = false;
    newline(out, indent + 2);
    if (object) out.append(line_of(key)).append(": ");
    write(out, item, indent + 2);
  }
  newline(out, indent);
  out += object ? '}' : ']';
}

/// "[1, 2]" and {"q": 1, "k": 2}: as Python writes them.
std::string spaced(const Json& flat) {
  std::string out = flat.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, item] : flat.items()) {
    if (!first) out += ", ";
    first = false;
    if (flat.is_object()) out.append(line_of(key)).append(": ");
    out += line_of(item);
  }
  return out + (flat.is_object() ? "}" : "]");
}

void write(std::string& out, const Json& value, std::size_t indent) {
  if (!value.is_structured()) {
    out += line_of(value);
    return;
  }
  if (!is_flat(value)) return write_items(out, value, indent);
  const std::string line = spaced(value);
  if (indent > 0 && indent + line.size() <= kWidth) {
    out += line;
  } else if (value.is_array()) {
    write_filled(out, value, indent);
  } else {
    write_items(out, value, indent);
  }
}

}  // namespace

std::string text_of(const Json& json) {
  std::string out;
  write(out, json, 0);
  return out + "\n";
}

std::string error_json(std::string_view source, std::string_view message) {
  return text_of({{"source", source}, {"error", message}});
}

std::string json_list(std::span<const std::string> reports) {
  Json out{{"schema", "maskctl.list/1"}, {"reports", Json::array()}};
  for (const std::string& report : reports) out["reports"].push_back(Json::parse(report));
  return text_of(out);
}

}  // namespace maskctl::app
