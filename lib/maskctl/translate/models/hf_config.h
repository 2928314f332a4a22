// Reads which mask each layer of a model has from its Hugging Face config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The mask of one layer: a band of keys around the query, or causal chunks.
struct HfLayer {
  std::string type;  // "full_attention", "sliding_attention", "chunked_attention", ...
  std::string part;  // "encoder", "decoder" or "cross"; empty for decoder-only models
  std::optional<Index> left, right;  // keys before and after the query's own; not set: unbounded
  std::optional<Index> chunk;
  bool has_mask = true;  // false: no softmax attention over all tokens, or unknown
  friend bool operator==(const HfLayer&, const HfLayer&) = default;
};
/// The steps of the mask of a layer. Causal ones are aligned bottom-right: with a cache, the
/// queries are the last tokens.
Chain chain_of(const HfLayer& layer);

struct HfConfig {
  std::string model_type;
  std::vector<HfLayer> layers;     // for encoder-decoders: first encoder, then decoder, then cross
  std::vector<std::string> notes;  // which keys decided what, and what the config does not say
};

/// The layers of one mask, as "decoder 0-2+5".
struct HfLayerGroup {
  HfLayer layer;
  std::string layers;
};
/// The distinct masks of a config, in the order of the first layer with each.
std::vector<HfLayerGroup> layer_groups(const HfConfig& config);

/// Layers whose mask in one config is another than in a second one. `layers` is as in HfLayerGroup;
/// a config with fewer layers has nothing there.
struct HfLayerDifference {
  std::string layers;
  std::optional<HfLayer> a, b;
};
/// The layers in which two configs differ, part by part, and those of one difference together.
/// Layers of the same number and part are compared by their masks; where neither mask is known, by
/// their types.
std::vector<HfLayerDifference> diff_layers(const HfConfig& a, const HfConfig& b);

struct HfConfigOptions {
  bool assume_causal = false;  // treat unknown model types as causal
};

/// Reads the layers that transformers' class for this model type makes of a config, including its
/// defaults (transformers 5.23). If the layers are described in a nested text_config, that is read.
/// Throws Error(kFormat) for content that is no such config, for an unknown model type, for one
/// whose masks do not follow from its config, and above 16 MiB or 10000 layers.
HfConfig read_hf_config(std::string_view json, const HfConfigOptions& options = {});
/// Reads the config from a file, from a folder that save_pretrained wrote, or from "-". Also throws
/// Error(kIo).
HfConfig load_hf_config(const std::string& path, const HfConfigOptions& options = {});

}  // namespace maskctl
