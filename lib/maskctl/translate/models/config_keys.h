// The keys of a config.json, read with checks; private to the layer.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

inline constexpr std::size_t kMostConfigBytes = std::size_t{16} << 20;
inline constexpr Index kMaxLayers = 10000;

/// Throws Error(kFormat).
[[noreturn]] void refuse_config(const std::string& why);

/// Refuses a number of layers that is missing or above kMaxLayers.
Index checked_layers(std::optional<Index> layers);

/// An object of JSON. Null is a key that is absent, except for json() and has().
class ConfigKeys {
 public:
  /// Refuses texts that are no JSON object, and those of more than kMostConfigBytes.
  explicit ConfigKeys(std::string_view text);
  /// The part that describes the text layers: text_config, or else all of it.
  ConfigKeys text_part() const;
  /// Whether `other` is the same part of the same config.
  bool is(const ConfigKeys& other) const { return object_ == other.object_; }

  bool has(const char* key) const;
  /// The JSON of a value, such as "null"; "[...]" or "{...}" of one that holds others; nothing if
  /// the key is absent.
  std::optional<std::string> json(const char* key) const;
  /// A text, made printable; "" for other values.
  std::string text(const char* key) const;
  /// A whole number of at least `low`. Refuses other values.
  std::optional<Index> number(const char* key, Index low) const;
  /// The value of the first of these keys that is present, at least 1.
  std::optional<Index> first_number(std::initializer_list<const char*> keys) const;
  /// Refuses values that are neither true nor false.
  bool flag(const char* key, bool fallback) const;
  /// A list of texts. Refuses other values.
  std::optional<std::vector<std::string>> words(const char* key) const;
  /// Pairs of a list of texts and how often it repeats, written out. Refuses other values.
  std::vector<std::string> repeated_words(const char* key) const;
  /// For each entry of a list of numbers, at least `low`, the number, or nothing for null; nothing
  /// if the value is no list.
  std::optional<std::vector<std::optional<Index>>> numbers(const char* key, Index low) const;
  /// For each entry of a list, whether it is a number other than 0, or no number; nothing if the
  /// value is no list or has no entries.
  std::optional<std::vector<bool>> marks(const char* key) const;

 private:
  ConfigKeys(std::shared_ptr<const void> all, const void* object)
      : all_(std::move(all)), object_(object) {}

  std::shared_ptr<const void> all_;  // the JSON of the whole config
  const void* object_;               // the object in it that this is
};

}  // namespace maskctl
