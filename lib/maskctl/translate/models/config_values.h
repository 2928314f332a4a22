// Reads the values of a config.json; private to the layer.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

using Json = nlohmann::json;

inline constexpr Index kMostLayers = 10000;

[[noreturn]] void refuse_config(const std::string& why);
/// A whole number of at least `low`; nothing if the key is absent or null. Refuses other values.
std::optional<Index> number_of(const Json& config, const char* key, Index low);
bool flag_of(const Json& config, const char* key, bool fallback);
std::string text_of(const Json& config, const char* key);
/// The value of the first of these keys that is present.
std::optional<Index> first_number(const Json& config, std::initializer_list<const char*> keys);
Index checked_layers(std::optional<Index> layers);
/// A list of strings; nothing if the key is absent or null.
std::optional<std::vector<std::string>> words_of(const Json& config, const char* key);

}  // namespace maskctl
