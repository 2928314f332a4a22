// The layers of a config as steps, and in groups of one mask.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/ranges.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl {

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

std::vector<HfLayerGroup> layer_groups(const HfConfig& config) {
  std::vector<HfLayerGroup> out;
  for (const HfLayer& layer : config.layers) {
    if (std::ranges::find(out, layer, &HfLayerGroup::layer) != out.end()) continue;
    std::vector<Index> members;
    Index at = -1;  // index of `other` in its part (encoder or decoder)
    for (const HfLayer& other : config.layers) {
      at += other.part == layer.part;
      if (other == layer) members.push_back(at);
    }
    out.push_back({layer, fmt::format("{}{}{}", layer.part, layer.part.empty() ? "" : " ",
                                      ranges_text(ranges_of(members)))});
  }
  return out;
}

}  // namespace maskctl
