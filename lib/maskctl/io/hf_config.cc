#include "maskctl/io/hf_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "maskctl/base/error.h"
#include "maskctl/io/byte_source.h"
#include "maskctl/io/printable.h"

namespace maskctl {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr Index kMaxLayers = 10000;
constexpr Index kMaxNumber = (Index{1} << 31) - 1;

[[noreturn]] void refuse(const std::string& why) { throw Error(Errc::kFormat, why); }

Json parsed(std::string_view text) {
  if (text.size() > kMaxBytes) refuse(fmt::format("more than {} bytes", kMaxBytes));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) refuse("expected a JSON object");
  return json;
}

/// A whole number from `low` on; nothing when absent or null.
std::optional<Index> number(const Json& config, const char* key, Index low) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  const bool fits =
      found->is_number_integer() && found->get<Index>() >= low && found->get<Index>() <= kMaxNumber;
  if (!fits) refuse(fmt::format("{}: expected a whole number of at least {}, or null", key, low));
  return found->get<Index>();
}

bool flag(const Json& config, const char* key, bool fallback) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return fallback;
  if (!found->is_boolean()) refuse(fmt::format("{}: expected true or false", key));
  return found->get<bool>();
}

/// The object that names the layers.
const Json& text_part(const Json& config) {
  const auto nested = config.find("text_config");
  const bool named = config.contains("num_hidden_layers") || config.contains("layer_types");
  return !named && nested != config.end() && nested->is_object() ? *nested : config;
}

HfLayer layer_of(const Json& config, const std::string& type) {
  HfLayer layer{type, {}, {}};
  if (type == "sliding_attention") {
    layer.window = number(config, "sliding_window", 1);
    if (!layer.window) refuse("sliding_attention layers, but no sliding_window");
  } else if (type == "chunked_attention") {
    layer.chunk = number(config, "attention_chunk_size", 1);
    if (!layer.chunk) refuse("chunked_attention layers, but no attention_chunk_size");
  }
  return layer;
}

void read_types(const Json& config, const Json& types, HfConfig& out) {
  if (!types.is_array() || types.size() > static_cast<std::size_t>(kMaxLayers)) {
    refuse(fmt::format("layer_types: expected a list of at most {} names", kMaxLayers));
  }
  for (const Json& type : types) {
    if (!type.is_string()) refuse("layer_types: expected a list of names");
    out.layers.push_back(layer_of(config, printable(type.get<std::string>())));
  }
  const auto layers = number(config, "num_hidden_layers", 1);
  if (layers && *layers != static_cast<Index>(types.size())) {
    out.notes.push_back(
        fmt::format("layer_types names {} layers, num_hidden_layers is {}", types.size(), *layers));
  }
}

/// Llama 4: a layer without rotary positions reads everything, the others their chunk.
void read_chunks(const Json& config, Index layers, HfConfig& out) {
  const auto rope = config.find("no_rope_layers");
  const bool listed =
      rope != config.end() && rope->is_array() && rope->size() == static_cast<std::size_t>(layers);
  out.notes.push_back(listed ? "no_rope_layers: 1 is chunked, 0 is full"
                             : "attention_chunk_size: every layer but each 4th is chunked");
  for (Index i = 0; i < layers; ++i) {
    const bool chunked = listed ? (*rope)[static_cast<std::size_t>(i)] != 0 : (i + 1) % 4 != 0;
    out.layers.push_back(layer_of(config, chunked ? "chunked_attention" : "full_attention"));
  }
}

/// Which layers slide, for configs older than layer_types.
void read_windows(const Json& config, Index layers, HfConfig& out) {
  const bool used = flag(config, "use_sliding_window", true) && number(config, "sliding_window", 1);
  const auto first = number(config, "max_window_layers", 0);
  auto pattern = number(config, "sliding_window_pattern", 1);
  if (!pattern && out.model_type == "gemma2") pattern = 2;
  if (!pattern && out.model_type.starts_with("gemma3")) pattern = 6;
  const bool from_first = config.contains("use_sliding_window") && first;
  if (used && from_first) {
    out.notes.push_back(fmt::format("max_window_layers: layers from {} on slide", *first));
  } else if (used && pattern) {
    out.notes.push_back(fmt::format("every {}th layer is full, the others slide", *pattern));
  }
  for (Index i = 0; i < layers; ++i) {
    bool slides = used;
    if (from_first) {
      slides = used && i >= *first;
    } else if (pattern) {
      slides = used && (i + 1) % *pattern != 0;
    }
    out.layers.push_back(layer_of(config, slides ? "sliding_attention" : "full_attention"));
  }
}

}  // namespace

HfConfig load_hf_config(const std::string& path) {
  ByteSource source(path);
  std::vector<std::byte> bytes(kMaxBytes + 1);
  bytes.resize(static_cast<std::size_t>(source.read(bytes)));
  try {
    return read_hf_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", printable(path), error.what()));
  }
}

HfConfig read_hf_config(std::string_view json) {
  const Json all = parsed(json);
  const Json& config = text_part(all);
  HfConfig out;
  const auto type = config.find("model_type");
  if (type != config.end() && type->is_string()) {
    out.model_type = printable(type->get<std::string>());
  }
  if (const auto types = config.find("layer_types"); types != config.end() && !types->is_null()) {
    read_types(config, *types, out);
    return out;
  }
  const auto layers = number(config, "num_hidden_layers", 1);
  if (!layers) refuse("neither layer_types nor num_hidden_layers");
  if (*layers > kMaxLayers) refuse(fmt::format("more than {} layers", kMaxLayers));
  if (number(config, "attention_chunk_size", 1)) {
    read_chunks(config, *layers, out);
  } else {
    read_windows(config, *layers, out);
  }
  return out;
}

}  // namespace maskctl
