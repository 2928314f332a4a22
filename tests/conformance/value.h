// The values of a manifest: what Python writes as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace conformance {

/// None, bool, int, float, str, list (a Python tuple) or dict in the order of the file.
class Value {
 public:
  using List = std::vector<Value>;
  using Dict = std::vector<std::pair<std::string, Value>>;
  using FileType =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Dict>;

  Value() = default;  // None
  Value(bool value) : content_(value) {}
  Value(std::int64_t value) : content_(value) {}
  Value(double value) : content_(value) {}
  Value(std::string value) : content_(std::move(value)) {}
  Value(const char* value) : content_(std::string(value)) {}
  Value(List value) : content_(std::move(value)) {}
  Value(Dict value) : content_(std::move(value)) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(content_); }
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&content_);
  }
  /// Throws Mismatch, naming the value, when it is of another type.
  template <typename T>
  const T& as() const {
    if (const T* value = get_if<T>()) return *value;
    throw_type();
  }
  /// An int or a float.
  double number() const;

  /// The entry of a dict, null when absent.
  const Value* find(const std::string& key) const;
  /// Throws Mismatch when absent.
  const Value& at(const std::string& key) const;

  /// On one line, as JSON writes it.
  std::string text() const;
  /// Dicts are equal in any order; 1 is neither 1.0 nor true.
  friend bool operator==(const Value& a, const Value& b);

 private:
  [[noreturn]] void throw_type() const;

  FileType content_;
};

/// The text in quotes, with line feeds and quotes escaped.
std::string quoted(const std::string& text);

/// Throws Mismatch for bad JSON.
Value parse_json(const std::string& text);

}  // namespace conformance
