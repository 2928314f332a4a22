#include "maskctl/translate/models/hf_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/pretrained.h"
#include "maskctl/io/streams/byte_source.h"
#include "maskctl/translate/models/config_effects.h"
#include "maskctl/translate/models/config_images.h"
#include "maskctl/translate/models/config_keys.h"
#include "maskctl/translate/models/hf_models.h"

namespace maskctl {
namespace {

/// Reads the layers from a config of a known model type.
class ConfigReader {
 public:
  ConfigReader(const ConfigKeys& config, const HfModel& model, HfConfig& out)
      : config_(config), model_(model), out_(out) {}

  void read();

 private:
  using F = HfFamily;

  HfLayer full() const { return {"full_attention", "", {}, causal(), {}, true}; }
  HfLayer sliding() const;
  HfLayer chunked() const;
  HfLayer without(const std::string& type) const { return {type, "", {}, {}, {}, false}; }
  /// The right side of every window: 0 if the model is causal, else unbounded.
  std::optional<Index> causal() const { return causal_ ? std::optional<Index>(0) : std::nullopt; }
  Index layer_count() const {
    return checked_layers(config_.first_number(
        {"decoder_layers", "num_hidden_layers", "n_layer", "n_layers", "num_layers"}));
  }
  std::optional<Index> window_or_default(const char* key) const {
    const bool off = !config_.flag("use_sliding_window", true);
    if (config_.has(key)) {
      const auto window = config_.number(key, off ? 0 : 1);  // 0 is allowed when the window is off
      return window == Index{0} ? std::nullopt : window;
    }
    return model_.window > 0 ? std::optional(model_.window) : std::nullopt;
  }
  void note(std::string text) { out_.notes.push_back(std::move(text)); }
  template <typename Slides>
  void slide(Index layers, Slides&& slides) {
    for (Index i = 0; i < layers; ++i) out_.layers.push_back(slides(i) ? sliding() : full());
  }

  void read_direction();
  void note_unread();
  /// True if the class ignores its window because use_sliding_window is not set.
  bool switched_off() const {
    const bool switched = model_.family == F::kEvenWindow || model_.type == "qwen3_moe" ||
                          (model_.family == F::kLateWindow && model_.type != "dots1");
    return switched && !config_.flag("use_sliding_window", false);
  }
  void read_types(const std::vector<std::string>& types);
  void read_pattern();
  void read_late_window();
  void read_even_window();
  void read_no_rope_window();
  void read_chunks();
  void read_local_layers();
  void read_recurrent();
  void read_hybrid();
  void read_longformer();
  void read_encoder_decoder();
  std::vector<bool> with_rope(Index layers);

  const ConfigKeys& config_;
  const HfModel& model_;
  HfConfig& out_;
  bool causal_ = true;
  bool half_window_ = false;  // the window extends W / 2 to either side
  std::optional<Index> window_;
};

HfLayer ConfigReader::sliding() const {
  if (!window_) {
    refuse_config(switched_off() ? "sliding_attention layers, but use_sliding_window is off"
                                 : "sliding_attention layers, but no sliding_window");
  }
  HfLayer out{"sliding_attention", "", *window_ - 1, Index{0}, {}, true};
  if (!causal_) out.left = out.right = half_window_ ? *window_ / 2 : *window_;
  return out;
}

HfLayer ConfigReader::chunked() const {
  const auto size = window_or_default("attention_chunk_size");
  if (!size) refuse_config("chunked_attention layers, but no attention_chunk_size");
  return {"chunked_attention", "", {}, Index{0}, *size, true};
}

/// Finds out whether layers are causal or see both directions: the family of the model decides,
/// unless a key changes it.
void ConfigReader::read_direction() {
  const bool encoder = model_.family == F::kEncoder || model_.family == F::kEncoderWindow;
  if (encoder) {
    causal_ = config_.flag("is_decoder", false);
    if (causal_) note("is_decoder: the layers are causal");
    half_window_ = true;
    return;
  }
  const std::string both = config_.json("use_bidirectional_attention").value_or("null");
  const bool set = both != "null";
  const bool vision = both == "\"vision\"";
  if (vision) note("use_bidirectional_attention: images see themselves both ways; this is text");
  if (set && !vision && both != "false") {
    if (model_.type != "gemma3_text" || both != "true") {
      refuse_config(fmt::format("use_bidirectional_attention is {} for {}: its masks are unknown",
                                printable(both), model_.type));
    }
    causal_ = false;
    half_window_ = true;
    note(
        "use_bidirectional_attention: every layer looks both ways, a window of W is W // 2 on "
        "either side");
  }
  if (!config_.flag("is_causal", true)) {
    causal_ = false;
    note("is_causal is false: every layer looks both ways, a window of W is W on either side");
  }
}

/// Adds notes for keys that seem to decide the masks but that the class of this model does not
/// read.
void ConfigReader::note_unread() {
  const auto given = [&](const char* key) { return config_.json(key).value_or("null") != "null"; };
  const bool windowless = model_.family == F::kCausal || model_.family == F::kEncoder;
  if (given("layer_types")) {
    note(fmt::format("layer_types: the class of {} does not read it", model_.type));
  }
  if (windowless && given("sliding_window")) {
    note(fmt::format("sliding_window: the class of {} does not read it", model_.type));
  }
}

void ConfigReader::read_types(const std::vector<std::string>& types) {
  for (const std::string& type : types) {
    if (type == "full_attention" || type == "attention" || type == "hybrid") {
      out_.layers.push_back(full());
    } else if (type == "sliding_attention") {
      out_.layers.push_back(sliding());
    } else if (type == "chunked_attention") {
      out_.layers.push_back(chunked());
    } else {
      out_.layers.push_back(without(type));
    }
  }
  const auto layers = config_.first_number({"num_hidden_layers", "n_layer", "n_layers"});
  if (layers && *layers != static_cast<Index>(types.size())) {
    note(
        fmt::format("layer_types names {} layers, num_hidden_layers is {}", types.size(), *layers));
  }
}

/// Gives the layers their masks by the pattern of the class, which says which layers see all keys
/// while the others slide. An older key of the config may change the period of the pattern.
void ConfigReader::read_pattern() {
  HfPattern pattern = model_.pattern;
  for (const char* key :
       {"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"}) {
    const std::string value = config_.json(key).value_or("null");
    if (value == "null") continue;
    if (value.starts_with('"')) refuse_config(fmt::format("{}: expected a whole number", key));
    const auto every = config_.number(key, 1);
    const bool last = pattern.first == pattern.every - 1;
    pattern.every = *every;
    pattern.first = last ? *every - 1 : std::min(pattern.first, *every - 1);
    note(fmt::format("{}: 1 layer of {} is full", key, *every));
  }
  const Index layers = layer_count();
  if (!config_.has("layer_types") && out_.notes.empty() && pattern.every > 0) {
    note(fmt::format("no layer_types: the pattern of {}", model_.type));
  }
  const bool slides = window_.has_value();
  slide(layers, [&](Index i) { return slides && !pattern.full(i, layers); });
}

void ConfigReader::read_late_window() {
  const Index layers = layer_count();
  // The class of dots1 has no use_sliding_window, so its window is on.
  const bool used = config_.flag("use_sliding_window", model_.type == "dots1") && window_;
  const Index from =
      config_.number("max_window_layers", 0).value_or(model_.type == "dots1" ? 62 : 28);
  if (used) note(fmt::format("max_window_layers: layers from {} on slide", from));
  slide(layers, [&](Index i) { return used && i >= from; });
}

void ConfigReader::read_even_window() {
  const bool used = config_.flag("use_sliding_window", false) && window_;
  const Index before = config_.number("max_window_layers", 0).value_or(28);
  if (used) note(fmt::format("max_window_layers: even layers before {} slide", before));
  slide(layer_count(), [&](Index i) { return used && i % 2 == 0 && i < before; });
}

/// True for each layer that has rotary positions: in no_rope_layers these are marked with 1.
std::vector<bool> ConfigReader::with_rope(Index layers) {
  if (const auto listed = config_.marks("no_rope_layers")) {
    if (listed->size() != static_cast<std::size_t>(layers)) {
      refuse_config(
          fmt::format("no_rope_layers has {} entries for {} layers", listed->size(), layers));
    }
    note("no_rope_layers: 1 has rotary positions, 0 has none");
    return *listed;
  }
  std::vector<bool> out;
  const Index every = config_.number("no_rope_layer_interval", 1).value_or(4);
  for (Index i = 0; i < layers; ++i) out.push_back((i + 1) % every != 0);
  note(fmt::format("no_rope_layer_interval: 1 layer of {} has no rotary positions", every));
  return out;
}

void ConfigReader::read_no_rope_window() {
  const Index layers = layer_count();
  const bool used = config_.flag("use_sliding_window", false) && window_;
  const auto rope = with_rope(layers);
  slide(layers, [&](Index i) { return used && !rope[static_cast<std::size_t>(i)]; });
}

void ConfigReader::read_chunks() {
  for (const bool rope : with_rope(layer_count())) {
    out_.layers.push_back(rope ? chunked() : full());
  }
}

/// Reads attention_layers, a name for each layer, or attention_types, pairs of a list of names and
/// how often it repeats.
void ConfigReader::read_local_layers() {
  window_ = window_or_default("window_size");
  std::vector<std::string> kinds;
  if (const auto listed = config_.words("attention_layers")) {
    kinds = *listed;
  } else if (config_.has("attention_types")) {
    kinds = config_.repeated_words("attention_types");
  } else {
    const Index layers = layer_count();
    for (Index i = 0; i < layers; ++i) kinds.push_back(i % 2 == 0 ? "global" : "local");
    note("no attention_layers: global and local alternate");
  }
  for (const std::string& kind : kinds) {
    if (kind != "global" && kind != "local") {
      refuse_config(fmt::format("attention_layers: '{}' is neither global nor local", kind));
    }
    out_.layers.push_back(kind == "local" ? sliding() : full());
  }
}

void ConfigReader::read_recurrent() {
  window_ = window_or_default("attention_window_size");
  const auto types = config_.words("block_types")
                         .value_or(std::vector<std::string>{"recurrent", "recurrent", "attention"});
  if (types.empty()) refuse_config("block_types: expected at least one name");
  const Index layers = layer_count();
  for (Index i = 0; i < layers; ++i) {
    const std::string& type = types[static_cast<std::size_t>(i) % types.size()];
    out_.layers.push_back(type == "attention" ? sliding() : without(type));
  }
}

void ConfigReader::read_hybrid() {
  if (const auto types = config_.words("layers_block_type")) return read_types(*types);
  if (model_.pattern.every == 0) {
    refuse_config(fmt::format(
        "{} needs layer_types or layers_block_type, which name its attention layers", model_.type));
  }
  HfPattern pattern = model_.pattern;
  if (const auto every = config_.number("full_attention_interval", 1))
    pattern = {*every, *every - 1};
  const Index layers = layer_count();
  for (Index i = 0; i < layers; ++i) {
    out_.layers.push_back(pattern.full(i, layers) ? full() : without("linear_attention"));
  }
}

/// Reads attention_window: one number, or one per layer. Half of it is on either side of the query.
void ConfigReader::read_longformer() {
  note("a global_attention_mask opens rows and columns besides: global:tokens=LIST");
  const auto listed = config_.numbers("attention_window", 2);
  const Index layers = listed ? std::ssize(*listed) : layer_count();
  causal_ = false;
  half_window_ = true;
  for (Index i = 0; i < layers; ++i) {
    window_ = listed ? (*listed)[as_size(i)] : window_or_default("attention_window");
    out_.layers.push_back(sliding());
  }
}

void ConfigReader::read_encoder_decoder() {
  if (!config_.flag("is_encoder_decoder", true)) {
    note("is_encoder_decoder is false: only a decoder");
    const Index layers = layer_count();
    for (Index i = 0; i < layers; ++i) out_.layers.push_back(full());
    return;
  }
  const Index encoder = checked_layers(config_.first_number(
      {"encoder_layers", "num_layers", "num_encoder_layers", "num_hidden_layers"}));
  const Index decoder = checked_layers(
      config_.first_number({"decoder_layers", "num_decoder_layers"}).value_or(encoder));
  const auto add = [&](const char* part, Index layers, bool causal) {
    causal_ = causal;
    for (Index i = 0; i < layers; ++i) {
      out_.layers.push_back(full());
      out_.layers.back().part = part;
    }
  };
  add("encoder", encoder, false);
  add("decoder", decoder, true);
  add("cross", decoder, false);
}

void ConfigReader::read() {
  read_direction();
  const bool local = model_.family == F::kEncoderWindow && !config_.has("sliding_window");
  window_ = window_or_default(local ? "local_attention" : "sliding_window");
  if (model_.type == "modernbert-decoder" && !config_.has("sliding_window")) {
    if (const auto both = config_.number("local_attention", 2)) window_ = *both / 2;
  }
  // local_attention counts the keys of both sides together, sliding_window those of one side.
  if (model_.family == F::kEncoderWindow) half_window_ = local && model_.type == "modernbert";
  if (switched_off()) window_.reset();
  if (reads_layer_types(model_.family)) {
    if (const auto types = config_.words("layer_types")) return read_types(*types);
  }
  note_unread();
  switch (model_.family) {
    case F::kCausal:
    case F::kEncoder:
      window_.reset();
      [[fallthrough]];
    case F::kWindow:
      return slide(layer_count(), [&](Index) { return window_.has_value(); });
    case F::kTypes:
    case F::kEncoderWindow:
      return read_pattern();
    case F::kLateWindow:
      return read_late_window();
    case F::kEvenWindow:
      return read_even_window();
    case F::kNoRopeWindow:
      return read_no_rope_window();
    case F::kChunked:
      return read_chunks();
    case F::kLocalLayers:
      return read_local_layers();
    case F::kRecurrent:
      return read_recurrent();
    case F::kHybrid:
      return read_hybrid();
    case F::kLongformer:
      return read_longformer();
    case F::kNoAttention: {
      const Index layers = layer_count();
      for (Index i = 0; i < layers; ++i) out_.layers.push_back(without(std::string(model_.type)));
      return;
    }
    case F::kEncoderDecoder:
      return read_encoder_decoder();
    case F::kOwn:
      break;
  }
  refuse_config(fmt::format(
      "model_type '{}' has masks of its own that no keys of its config describe", model_.type));
}

/// The keys of the config that decide masks, for messages: "sliding_window 4096, layer_types".
std::string keys_read(const ConfigKeys& config) {
  std::string out;
  for (const char* key : {"num_hidden_layers", "sliding_window", "use_sliding_window",
                          "max_window_layers", "sliding_window_pattern", "attention_chunk_size",
                          "layer_types", "is_decoder", "is_encoder_decoder", "is_causal"}) {
    const auto value = config.json(key);
    if (!value) continue;
    out += out.empty() ? "" : ", ";
    out += key;
    if (!value->starts_with('[') && !value->starts_with('{')) out += " " + printable(*value);
  }
  return out.empty() ? "none of the keys that decide masks" : out;
}

/// Looks the model type up in the table. For an unknown type, if the caller has asked to assume
/// causal, a causal model.
HfModel model_of(const ConfigKeys& all, const ConfigKeys& config, const HfConfigOptions& options,
                 std::string& name) {
  const std::string outer = all.text("model_type"), inner = config.text("model_type");
  name = inner.empty() ? outer : inner;
  for (const std::string& type : {name, name + "_text", outer + "_text"}) {
    if (const HfModel* found = find_hf_model(type)) return *found;
  }
  if (options.assume_causal) {
    return {"", config.has("layer_types") ? HfFamily::kTypes : HfFamily::kWindow};
  }
  const std::string who = name.empty() ? "no model_type" : fmt::format("model_type '{}'", name);
  throw Error(Errc::kFormat,
              fmt::format("{}: its masks are unknown, and nothing is assumed; read {}", who,
                          keys_read(config)),
              {{Remedy::kAssumeCausal}});
}

}  // namespace

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

HfConfig read_layers(std::string_view json, const HfConfigOptions& options) {
  const ConfigKeys all(json), config = all.text_part();
  HfConfig out;
  const HfModel model = model_of(all, config, options, out.model_type);
  ConfigReader(config, model, out).read();
  if (!config.is(all) && all.has("vision_config")) {
    std::optional<std::string> both;
    if (config.has("use_bidirectional_attention")) {
      both = config.text("use_bidirectional_attention");
    }
    out.notes.push_back(image_note(all.text("model_type"), both));
  }
  return out;
}

HfConfig read_hf_config(std::string_view json, const HfConfigOptions& options) {
  HfConfig out = read_layers(json, options);
  for (std::string& text : keys_without_effect(json, options, out)) {
    out.notes.push_back(std::move(text));
  }
  return out;
}

}  // namespace maskctl
