#include "maskctl/translate/models/config_values.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {
namespace {

constexpr Index kMaxNumber = (Index{1} << 31) - 1;

}  // namespace

void refuse_config(const std::string& why) { throw Error(Errc::kFormat, why); }

std::optional<Index> number_of(const Json& config, const char* key, Index low) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  const bool fits =
      found->is_number_integer() && found->get<Index>() >= low && found->get<Index>() <= kMaxNumber;
  if (!fits)
    refuse_config(fmt::format("{}: expected a whole number of at least {}, or null", key, low));
  return found->get<Index>();
}

bool flag_of(const Json& config, const char* key, bool fallback) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return fallback;
  if (!found->is_boolean()) refuse_config(fmt::format("{}: expected true or false", key));
  return found->get<bool>();
}

std::string text_of(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

std::optional<Index> first_number(const Json& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto value = number_of(config, key, 1)) return value;
  }
  return std::nullopt;
}

Index checked_layers(std::optional<Index> layers) {
  if (!layers) {
    refuse_config(
        "neither layer_types, if the class reads it, nor a number of layers (num_hidden_layers, "
        "n_layer, n_layers, num_layers, encoder_layers, decoder_layers)");
  }
  if (*layers > kMostLayers) refuse_config(fmt::format("more than {} layers", kMostLayers));
  return *layers;
}

std::optional<std::vector<std::string>> words_of(const Json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (!found->is_array() || found->size() > static_cast<std::size_t>(kMostLayers)) {
    refuse_config(fmt::format("{}: expected a list of at most {} names", key, kMostLayers));
  }
  std::vector<std::string> out;
  for (const Json& word : *found) {
    if (!word.is_string()) refuse_config(fmt::format("{}: expected a list of names", key));
    out.push_back(printable(word.get<std::string>()));
  }
  return out;
}

}  // namespace maskctl
