// The mask of each model type of transformers, and the defaults of its config class; private to the
// layer.
#pragma once

#include <span>
#include <string_view>

#include "maskctl/base/index.h"

namespace maskctl {

/// How a model type determines the masks of its layers.
enum class HfFamily {
  kCausal,          // every layer causal, whatever windows the config names
  kWindow,          // every layer slides if sliding_window is set
  kTypes,           // layer_types, or the pattern of the class
  kLateWindow,      // slides from layer max_window_layers on, with use_sliding_window
  kEvenWindow,      // qwen2_moe: even layers below max_window_layers slide, with use_sliding_window
  kNoRopeWindow,    // layers without rotary positions slide, with use_sliding_window
  kChunked,         // layers with rotary positions see their chunk, others all keys
  kEncoder,         // every layer sees all keys; causal with is_decoder
  kEncoderWindow,   // the pattern's sliding layers see a window on either side
  kEncoderDecoder,  // encoder and cross attention see all keys, decoder causal
  kLocalLayers,     // gpt_neo: attention_layers name "local" and "global"
  kRecurrent,       // recurrent_gemma: every third layer slides, the others are recurrent
  kHybrid,          // causal where layer_types says attention; the others have no mask
  kLongformer,      // a window on either side, and global tokens given by an argument
  kNoAttention,     // state-space and other models without a mask
  kOwn,             // a mask of its own that no keys describe
};

/// Whether the class chooses a layer's mask by its name in layer_types. The others keep the key, as
/// any key they do not know, and never look at it.
constexpr bool reads_layer_types(HfFamily family) {
  switch (family) {
    case HfFamily::kTypes:
    case HfFamily::kLateWindow:
    case HfFamily::kEvenWindow:
    case HfFamily::kNoRopeWindow:
    case HfFamily::kChunked:
    case HfFamily::kEncoderWindow:
    case HfFamily::kHybrid:
      return true;
    case HfFamily::kCausal:
    case HfFamily::kWindow:
    case HfFamily::kEncoder:
    case HfFamily::kEncoderDecoder:
    case HfFamily::kLocalLayers:
    case HfFamily::kRecurrent:
    case HfFamily::kLongformer:
    case HfFamily::kNoAttention:
    case HfFamily::kOwn:
      break;
  }
  return false;
}

/// Layer i is full when (i + 1) % every == 0 shifted by `first`: i % every == first.
struct HfPattern {
  Index every = 0;  // 0: no pattern, every layer is full
  Index first = 0;
  bool starts_full = false;  // the first layer is full too
  bool ends_full = false;    // the last layer is full too

  bool full(Index i, Index layers) const {
    return every == 0 || i % every == first || (starts_full && i == 0) ||
           (ends_full && i + 1 == layers);
  }
};

struct HfModel {
  std::string_view type;
  HfFamily family = HfFamily::kCausal;
  Index window = 0;  // default of the class; 0: none
  HfPattern pattern = {};
};

/// Null for an unknown type. Source: the configuration and modeling files of transformers 5.23.
const HfModel* find_hf_model(std::string_view type);
std::span<const HfModel> hf_models();

}  // namespace maskctl
