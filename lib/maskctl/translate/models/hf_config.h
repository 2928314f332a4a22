// The attention layers that a Hugging Face config.json describes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The mask of one layer: a band, or causal chunks.
struct HfLayer {
  std::string type;  // "full_attention", "sliding_attention", "chunked_attention", ...
  std::string part;  // "encoder", "decoder", "cross"; empty if the model has one stack
  std::optional<Index> left, right;  // keys before and after the query's own; null: unbounded
  std::optional<Index> chunk;
  bool has_mask = true;  // false: not softmax attention over all tokens, or unknown
  friend bool operator==(const HfLayer&, const HfLayer&) = default;
};
/// The steps of a layer that has a mask. Causal ones are aligned bottom-right: queries are the last
/// tokens of a cache.
Chain chain_of(const HfLayer& layer);

struct HfConfig {
  std::string model_type;
  std::vector<HfLayer> layers;     // for an encoder-decoder: encoder, decoder and cross layers
  std::vector<std::string> notes;  // which key decided what, and what the config leaves open
};

struct HfConfigOptions {
  bool assume_causal = false;  // for unknown model types
};

/// The layers that the class of the model type makes of the config, including its defaults
/// (transformers 5.23). A nested text_config is read if it describes the layers. Throws
/// Error(kFormat) for other content, an unknown model type, and one whose masks no keys describe;
/// at most 16 MiB, 10000 layers.
HfConfig read_hf_config(std::string_view json, const HfConfigOptions& options = {});
/// Reads a file, a folder that save_pretrained wrote, or "-". Throws Error(kIo) too.
HfConfig load_hf_config(const std::string& path, const HfConfigOptions& options = {});

}  // namespace maskctl
