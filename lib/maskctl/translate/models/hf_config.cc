#include "maskctl/translate/models/hf_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/pretrained.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/translate/models/config_layers.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostConfigBytes = std::size_t{16} << 20;

Json parsed(std::string_view text) {
  if (text.size() > kMostConfigBytes)
    refuse_config(fmt::format("more than {} bytes", kMostConfigBytes));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) refuse_config("expected a JSON object");
  return json;
}

/// The part of the config that describes the text layers: text_config, or else all of it.
const Json& text_part(const Json& config) {
  const auto nested = config.find("text_config");
  return nested != config.end() && nested->is_object() ? *nested : config;
}

/// The keys of the config that decide masks, for messages: "sliding_window 4096, layer_types".
std::string keys_read(const Json& config) {
  std::string out;
  for (const char* key : {"num_hidden_layers", "sliding_window", "use_sliding_window",
                          "max_window_layers", "sliding_window_pattern", "attention_chunk_size",
                          "layer_types", "is_decoder", "is_encoder_decoder", "is_causal"}) {
    const auto found = config.find(key);
    if (found == config.end()) continue;
    out += out.empty() ? "" : ", ";
    out += key;
    if (!found->is_structured()) out += " " + printable(found->dump());
  }
  return out.empty() ? "none of the keys that decide masks" : out;
}

/// Looks the model type up in the table. For an unknown type, if the caller has asked to assume
/// causal, a causal model.
HfModel model_of(const Json& all, const Json& config, const HfConfigOptions& options,
                 std::string& name) {
  const std::string outer = text_of(all, "model_type"), inner = text_of(config, "model_type");
  name = inner.empty() ? outer : inner;
  for (const std::string& type : {name, name + "_text", outer + "_text"}) {
    if (const HfModel* found = find_hf_model(type)) return *found;
  }
  if (options.assume_causal) {
    return {"", config.contains("layer_types") ? HfFamily::kTypes : HfFamily::kWindow};
  }
  const std::string who = name.empty() ? "no model_type" : fmt::format("model_type '{}'", name);
  throw Error(Errc::kFormat,
              fmt::format("{}: its masks are unknown, and nothing is assumed; read {}", who,
                          keys_read(config)),
              {{Remedy::kAssumeCausal}});
}

HfConfig read_layers(const Json& all, const HfConfigOptions& options) {
  const Json& config = text_part(all);
  HfConfig out;
  const HfModel model = model_of(all, config, options, out.model_type);
  read_config_layers(config, model, out);
  return out;
}

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
  if (given.is_number_integer()) {
    for (const Index n : {given.get<Index>() + 1, given.get<Index>() * 2 + 3}) others.push_back(n);
  }
  for (const Json& other : others) {
    config[key] = other;
    if (other.is_null()) config.erase(key);
    try {
      if (read_layers(all, options).layers != as_given.layers) return false;
    } catch (const Error&) {
      return false;  // the key is needed
    }
  }
  return true;
}

/// Whether use_sliding_window=true would change layers, wherever max_window_layers has them slide.
bool has_switch(Json all, const HfConfigOptions& options, const HfConfig& as_given) {
  text_part(all)["use_sliding_window"] = true;
  bool out = read_layers(all, options).layers != as_given.layers;
  text_part(all)["max_window_layers"] = 0;
  return out || read_layers(all, options).layers != as_given.layers;
}

/// Notes for keys of windows and chunks that change no layer, whatever their value.
std::vector<std::string> keys_without_effect(const Json& all, const HfConfigOptions& options,
                                             const HfConfig& as_given) {
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
    const bool off =
        config.value("use_sliding_window", Json()) != true && has_switch(all, options, as_given);
    out.push_back(fmt::format("{}={} has no effect{}", key, printable(found->dump()),
                              off ? " without use_sliding_window=true" : ""));
  }
  return out;
}

}  // namespace

Chain chain_of(const HfLayer& layer) {
  Chain out;
  const Align align = layer.right == Index{0} ? Align::kBottomRight : Align::kUnset;
  if (layer.left) {
    step::Window window{layer.left, layer.right, align};
    window.spelling = layer.right == Index{0}     ? step::Window::Spelling::kKeys
                      : layer.left == layer.right ? step::Window::Spelling::kBoth
                                                  : step::Window::Spelling::kSides;
    out.push_back({window});
  } else if (layer.right == Index{0}) {
    out.push_back({step::Causal{align, {}}});
  }
  if (layer.chunk) out.push_back({step::Chunk{*layer.chunk, 0, Align::kBottomRight}});
  return out;
}

HfConfig load_hf_config(const std::string& given, const HfConfigOptions& options) {
  const std::string path = in_pretrained(given, "config.json");
  ByteSource source(path);
  std::vector<std::byte> bytes(kMostConfigBytes + 1);
  bytes.resize(static_cast<std::size_t>(source.read(bytes)));
  try {
    return read_hf_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options);
  } catch (const Error& error) {
    throw error.within(printable(path));
  }
}

HfConfig read_hf_config(std::string_view json, const HfConfigOptions& options) {
  const Json all = parsed(json);
  HfConfig out = read_layers(all, options);
  for (std::string& text : keys_without_effect(all, options, out)) {
    out.notes.push_back(std::move(text));
  }
  if (&text_part(all) != &all && all.contains("vision_config")) {
    out.notes.push_back("text tokens only: image tokens may see each other both ways");
  }
  return out;
}

}  // namespace maskctl
