// The attention layers that a Hugging Face config.json describes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// `type`: "full_attention", "sliding_attention", "chunked_attention", or another word of
/// layer_types, which is no softmax attention. A window of W is W keys, the own one included.
struct HfLayer {
  std::string type;
  std::optional<Index> window;
  std::optional<Index> chunk;
  friend bool operator==(const HfLayer&, const HfLayer&) = default;
};

struct HfConfig {
  std::string model_type;
  std::vector<HfLayer> layers;
  std::vector<std::string> notes;  // which key said which layers slide, when layer_types does not
};

/// layer_types when present; otherwise sliding_window with use_sliding_window, max_window_layers,
/// sliding_window_pattern, and attention_chunk_size with no_rope_layers, as the library derives
/// layer_types from them. A nested text_config is read when the top level names no layers.
/// Throws Error(kFormat) for other content, at most 16 MiB and 10000 layers.
HfConfig read_hf_config(std::string_view json);
/// From a file, or "-". Throws Error(kIo) too.
HfConfig load_hf_config(const std::string& path);

}  // namespace maskctl
