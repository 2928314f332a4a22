#include "conformance/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/mismatch.h"

namespace conformance {
namespace {

std::string text_of(std::monostate) { return "null"; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(const std::string& value) { return quoted(value); }

std::string text_of(const Value::List& list) {
  std::string out;
  for (const Value& value : list) out += (out.empty() ? "" : ", ") + value.text();
  return "[" + out + "]";
}

std::string text_of(const Value::Dict& dict) {
  std::string out;
  for (const auto& [key, value] : dict) {
    out += (out.empty() ? "" : ", ") + quoted(key) + ": " + value.text();
  }
  return "{" + out + "}";
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

double Value::number() const {
  if (const auto* integer = get_if<std::int64_t>()) return static_cast<double>(*integer);
  return as<double>();
}

const Value* Value::find(const std::string& key) const {
  for (const auto& [name, value] : as<Dict>()) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Value& Value::at(const std::string& key) const {
  if (const Value* value = find(key)) return *value;
  throw Mismatch("no entry " + quoted(key) + " in " + text());
}

std::string Value::text() const {
  return std::visit([](const auto& value) { return text_of(value); }, content_);
}

bool operator==(const Value& a, const Value& b) {
  const auto* left = a.get_if<Value::Dict>();
  const auto* right = b.get_if<Value::Dict>();
  if (!left || !right) return a.content_ == b.content_;
  return left->size() == right->size() && std::ranges::all_of(*left, [&](const auto& entry) {
           const Value* other = b.find(entry.first);
           return other && entry.second == *other;
         });
}

void Value::throw_type() const { throw Mismatch(text() + " is of an unexpected type"); }

}  // namespace conformance
