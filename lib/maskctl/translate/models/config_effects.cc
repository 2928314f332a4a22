#include "maskctl/translate/models/config_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {
namespace {

using Json = nlohmann::json;

Json& text_part(Json& config) {
  const bool nested = config.contains("text_config") && config["text_config"].is_object();
  return nested ? config["text_config"] : config;
}

/// Whether the layers are the same with another value of the key, and without it.
bool is_without_effect(Json all, const HfConfigOptions& options, const HfConfig& as_given,
                       const std::string& key) {
  Json& config = text_part(all);
  const Json given = config[key];
  std::vector<Json> others = {nullptr};
  if (given.is_boolean()) others = {!given.get<bool>()};
  constexpr Index kMost = Index{1} << 30;
  if (given.is_number_integer() && given >= 0 && given <= kMost) {
    for (const Index n : {given.get<Index>() + 1, given.get<Index>() * 2 + 3}) others.push_back(n);
  }
  for (const Json& other : others) {
    config[key] = other;
    if (other.is_null()) config.erase(key);
    try {
      if (read_layers(all.dump(), options).layers != as_given.layers) return false;
    } catch (const Error&) {
      return false;  // the key is needed
    }
  }
  return true;
}

/// Whether the key would have an effect with use_sliding_window=true, wherever max_window_layers
/// has the layers slide.
bool is_switched_off(Json all, const HfConfigOptions& options, const std::string& key) {
  if (text_part(all).value("use_sliding_window", Json()) == true) return false;
  text_part(all)["use_sliding_window"] = true;
  const auto effect = [&] {
    try {
      return !is_without_effect(all, options, read_layers(all.dump(), options), key);
    } catch (const Error&) {
      return false;  // the switch needs more than this config has
    }
  };
  if (effect()) return true;
  text_part(all)["max_window_layers"] = 0;
  return key != "max_window_layers" && effect();
}

}  // namespace

std::vector<std::string> keys_without_effect(std::string_view json, const HfConfigOptions& options,
                                             const HfConfig& as_given) {
  // What is nested deeper decides no layer, and could end the stack.
  Json all = Json::parse(json, [](int depth, Json::parse_event_t, Json&) { return depth < 16; });
  const Json& config = text_part(all);
  std::vector<std::string> out;
  for (const char* key :
       {"sliding_window", "use_sliding_window", "max_window_layers", "attention_chunk_size",
        "sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers",
        "window_size", "attention_window_size", "local_attention"}) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null() || *found == false) continue;
    const bool named = std::ranges::any_of(as_given.notes, [&](const std::string& note) {
      return note.starts_with(fmt::format("{}: the class of", key));
    });
    if (named || !is_without_effect(all, options, as_given, key)) continue;
    const bool off = is_switched_off(all, options, key);
    out.push_back(fmt::format("{}={} has no effect{}", key, printable(found->dump()),
                              off ? " without use_sliding_window=true" : ""));
  }
  return out;
}

}  // namespace maskctl
