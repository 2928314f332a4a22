#include "maskctl/translate/models/config_images.h"

#include <algorithm>

namespace maskctl {
namespace {

enum class Images {
  kEveryLayer,     // the tokens of one image see each other, in sliding layers inside the window
  kSlidingLayers,  // the same in sliding layers alone
  kPrompt,         // images and the prompt see each other
};

/// A model type, and whether its text config must say "vision", by its default too.
struct ImageModel {
  std::string_view type;
  Images images;
  bool asked = false, by_default = true;
};
// models/TYPE/modeling_TYPE.py of transformers 5.23: create_masks_for_vision_model() of gemma3 and
// gemma4, create_causal_mask_mapping() of paligemma.
constexpr ImageModel kImageModels[] = {{"gemma3", Images::kEveryLayer},
                                       {"gemma4", Images::kSlidingLayers, true, false},
                                       {"gemma4_unified", Images::kSlidingLayers, true, true},
                                       {"paligemma", Images::kPrompt}};

const char* words(Images images) {
  switch (images) {
    case Images::kEveryLayer:
      return "text tokens only: in every layer those of one image see each other too, as causal | "
             "tokens:IMAGES says, in sliding layers before window:left=W-1";
    case Images::kSlidingLayers:
      return "text tokens only: in sliding layers those of one image see each other too, as causal "
             "| tokens:IMAGES | window:left=W-1 says; full layers stay causal";
    case Images::kPrompt:
      return "answers only: images and the prompt see each other both ways, as causal | prefix "
             "says";
  }
  return "";
}

}  // namespace

std::string image_note(std::string_view type, const std::optional<std::string>& bidirectional) {
  const auto found = std::ranges::find(kImageModels, type, &ImageModel::type);
  if (found == std::end(kImageModels)) {
    return "text tokens only: image tokens may see each other both ways";
  }
  const bool vision = bidirectional ? *bidirectional == "vision" : found->by_default;
  if (found->asked && !vision) return "image tokens are causal as text is";
  return words(found->images);
}

}  // namespace maskctl
