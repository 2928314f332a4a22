// For each model type of transformers, how its layers get their masks, and the defaults of its
// config class; private to the layer.
#pragma once

#include <span>
#include <string_view>

#include "maskctl/base/index.h"

namespace maskctl {

/// How the masks of the layers follow from the model type. "Slides" means that the layer has a
/// sliding window.
enum class HfFamily {
  kCausal,          // all layers causal, even if the config names windows
  kWindow,          // all layers slide if sliding_window is set
  kTypes,           // layer_types names the mask of each layer; else the pattern of the class
  kLateWindow,      // with use_sliding_window, layers from max_window_layers on slide
  kEvenWindow,      // qwen2_moe: with use_sliding_window, even layers below max_window_layers slide
  kNoRopeWindow,    // with use_sliding_window, layers without rotary positions slide
  kChunked,         // layers with rotary positions see only their chunk
  kEncoder,         // all layers see all keys; causal if is_decoder
  kEncoderWindow,   // layers that slide by the pattern have a window on either side
  kEncoderDecoder,  // encoder and cross-attention see all keys; decoder is causal
  kLocalLayers,     // gpt_neo: attention_layers has "global" or "local" for each layer
  kRecurrent,       // recurrent_gemma: every third layer slides, the others are recurrent
  kHybrid,          // causal where layer_types says attention; other layers have no mask
  kLongformer,      // a window on either side; an argument gives global tokens
  kNoAttention,     // no masks: state-space models and others
  kOwn,             // a special mask that does not follow from the config
};

/// True if the class gets the mask of a layer from its name in layer_types. Other classes ignore
/// that key.
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

/// Which layers see all keys: those with i % every == first.
struct HfPattern {
  Index every = 0;  // 0: no pattern, all layers are full
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
  Index window = 0;  // default of the class; 0: no window
  HfPattern pattern = {};
};

/// The entry of a model type; null if it is unknown. Source: the configuration and modeling files
/// of transformers 5.23.
const HfModel* find_hf_model(std::string_view type);
std::span<const HfModel> hf_models();

}  // namespace maskctl
