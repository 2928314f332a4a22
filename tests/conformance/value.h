// The values of a manifest: the Python values that its JSON stands for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace conformance {

/// A value of Python: None, bool, int, float, str, list (which stands for a tuple), or dict in the
/// order of the file.
class Value {
 public:
  using List = std::vector<Value>;
  using Dict = std::vector<std::pair<std::string, Value>>;
  using FileType =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Dict>;

  Value() = default;  // Python's None
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
  /// The content as T; throws Mismatch, which names the value, if it has another type.
  template <typename T>
  const T& as() const {
    if (const T* value = get_if<T>()) return *value;
    throw_type();
  }
  /// The number, of an int or a float.
  double number() const;

  /// The entry of a dict, or null when it is absent.
  const Value* find(const std::string& key) const;
  /// The entry of a dict; throws Mismatch when it is absent.
  const Value& at(const std::string& key) const;

  /// The value as JSON on one line.
  std::string text() const;
  /// Dicts are equal whatever their order; 1 equals neither 1.0 nor true.
  friend bool operator==(const Value& a, const Value& b);

 private:
  [[noreturn]] void throw_type() const;

  FileType content_;
};

/// Puts a text in quotes, with line feeds and quotes escaped.
std::string quoted(const std::string& text);

/// Reads JSON; throws Mismatch if it is malformed.
Value parse_json(const std::string& text);

}  // namespace conformance
