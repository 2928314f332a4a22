// A JSON value, made by reports: printed as text, or handed on as it is. Used in place of
// nlohmann-json because it compiles quickly.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace maskctl::app {

/// null, a bool, a number, a string, an array, or an object whose members stay in the order in
/// which they were added. A braced list becomes an object if each item is a pair whose first
/// element is a string, as in {{"q", 1}, {"k", 2}}; else it becomes an array.
class Json {
 public:
  struct Member;
  using Items = std::vector<Json>;
  using Members = std::vector<Member>;
  using Value =
      std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Items, Members>;

  Json(std::nullptr_t = nullptr);
  Json(bool value);
  Json(std::int64_t value);
  template <std::integral Integer>
  Json(Integer value) : Json(static_cast<std::int64_t>(value)) {}
  Json(double value);
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  template <typename Item>
  Json(const std::vector<Item>& items) : Json(Items(items.begin(), items.end())) {}
  template <typename Item, std::size_t n>
  Json(const std::array<Item, n>& items) : Json(Items(items.begin(), items.end())) {}
  Json(Items items);
  Json(std::initializer_list<Json> list);
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  static Json array(std::initializer_list<Json> items = {});
  static Json object();

  /// The member with this key, added as null if it is absent. A value that is not an object becomes
  /// an empty object first.
  Json& operator[](std::string_view key);
  /// Appends an item. A value that is not an array becomes an empty array first.
  void push_back(Json item);

  const Value& value() const { return value_; }
  /// The items of an array and the members of an object; a null pointer for any other value.
  const Items* items() const;
  const Members* members() const;

 private:
  Value value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

/// The JSON as text with a newline at the end. Short arrays and objects without nesting take one
/// line.
std::string text_of(const Json& json);

}  // namespace maskctl::app
