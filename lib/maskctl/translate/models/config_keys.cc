#include "maskctl/translate/models/config_keys.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {
namespace {

using Json = nlohmann::json;

constexpr Index kMaxNumber = (Index{1} << 31) - 1;

const Json& json_of(const void* object) { return *static_cast<const Json*>(object); }

/// The value of a key; null if the key is absent or its value is null.
const Json* given(const void* object, const char* key) {
  const Json& json = json_of(object);
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

Index checked_number(const Json& value, const char* key, Index low) {
  const bool fits =
      value.is_number_integer() && value.get<Index>() >= low && value.get<Index>() <= kMaxNumber;
  if (!fits) {
    refuse_config(fmt::format("{}: expected a whole number of at least {}, or null", key, low));
  }
  return value.get<Index>();
}

}  // namespace

void refuse_config(const std::string& why) { throw Error(Errc::kFormat, why); }

Index checked_layers(std::optional<Index> layers) {
  if (!layers) {
    refuse_config(
        "neither layer_types, if the class reads it, nor a number of layers (num_hidden_layers, "
        "n_layer, n_layers, num_layers, encoder_layers, decoder_layers)");
  }
  if (*layers > kMaxLayers) refuse_config(fmt::format("more than {} layers", kMaxLayers));
  return *layers;
}

ConfigKeys::ConfigKeys(std::string_view text) {
  if (text.size() > kMostConfigBytes) {
    refuse_config(fmt::format("more than {} bytes", kMostConfigBytes));
  }
  auto json = std::make_shared<const Json>(Json::parse(text, nullptr, false));
  if (!json->is_object()) refuse_config("expected a JSON object");
  object_ = json.get();
  all_ = std::move(json);
}

ConfigKeys ConfigKeys::text_part() const {
  const Json* nested = given(object_, "text_config");
  return {all_, nested && nested->is_object() ? nested : object_};
}

bool ConfigKeys::has(const char* key) const { return json_of(object_).contains(key); }

std::optional<std::string> ConfigKeys::json(const char* key) const {
  const auto found = json_of(object_).find(key);
  if (found == json_of(object_).end()) return std::nullopt;
  if (found->is_structured()) return found->is_array() ? "[...]" : "{...}";
  return found->dump();
}

std::string ConfigKeys::text(const char* key) const {
  const Json* found = given(object_, key);
  return found && found->is_string() ? printable(found->get<std::string>()) : "";
}

std::optional<Index> ConfigKeys::number(const char* key, Index low) const {
  const Json* found = given(object_, key);
  return found ? std::optional(checked_number(*found, key, low)) : std::nullopt;
}

std::optional<Index> ConfigKeys::first_number(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    if (const auto value = number(key, 1)) return value;
  }
  return std::nullopt;
}

bool ConfigKeys::flag(const char* key, bool fallback) const {
  const Json* found = given(object_, key);
  if (!found) return fallback;
  if (!found->is_boolean()) refuse_config(fmt::format("{}: expected true or false", key));
  return found->get<bool>();
}

std::optional<std::vector<std::string>> ConfigKeys::words(const char* key) const {
  const Json* found = given(object_, key);
  if (!found) return std::nullopt;
  if (!found->is_array() || found->size() > static_cast<std::size_t>(kMaxLayers)) {
    refuse_config(fmt::format("{}: expected a list of at most {} names", key, kMaxLayers));
  }
  std::vector<std::string> out;
  for (const Json& word : *found) {
    if (!word.is_string()) refuse_config(fmt::format("{}: expected a list of names", key));
    out.push_back(printable(word.get<std::string>()));
  }
  return out;
}

std::vector<std::string> ConfigKeys::repeated_words(const char* key) const {
  const auto refuse = [&] {
    refuse_config(fmt::format("{}: expected a list of [names, times]", key));
  };
  const Json& list = json_of(object_).at(key);
  if (!list.is_array()) refuse();
  std::vector<std::string> out;
  for (const Json& entry : list) {
    const bool pair = entry.is_array() && entry.size() == 2 && entry[0].is_array() &&
                      entry[1].is_number_integer() && entry[1].get<Index>() >= 0 &&
                      entry[1].get<Index>() <= kMaxLayers;
    if (!pair) refuse();
    for (Index n = entry[1].get<Index>(); n > 0; --n) {
      for (const Json& word : entry[0]) {
        out.push_back(word.is_string() ? printable(word.get<std::string>()) : "");
      }
      checked_layers(static_cast<Index>(out.size()) + 1);
    }
  }
  return out;
}

std::optional<std::vector<std::optional<Index>>> ConfigKeys::numbers(const char* key,
                                                                     Index low) const {
  const Json* found = given(object_, key);
  if (!found || !found->is_array()) return std::nullopt;
  checked_layers(static_cast<Index>(found->size()));
  std::vector<std::optional<Index>> out;
  for (const Json& one : *found) {
    out.push_back(one.is_null() ? std::nullopt : std::optional(checked_number(one, key, low)));
  }
  return out;
}

std::optional<std::vector<bool>> ConfigKeys::marks(const char* key) const {
  const Json* found = given(object_, key);
  if (!found || !found->is_array() || found->empty()) return std::nullopt;
  std::vector<bool> out;
  for (const Json& one : *found) out.push_back(one != 0);
  return out;
}

}  // namespace maskctl
