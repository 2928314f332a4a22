// Compares the layers of two configs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "maskctl/base/ranges.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl {
namespace {

using MaybeLayer = std::optional<HfLayer>;

bool same_mask(const MaybeLayer& a, const MaybeLayer& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  if (a->has_mask != b->has_mask) return false;
  if (!a->has_mask) return a->type == b->type;
  const auto mask = [](const HfLayer& layer) {
    return std::tie(layer.left, layer.right, layer.chunk);
  };
  return mask(*a) == mask(*b);
}

/// The layers of each part (encoder, decoder, cross), in their order.
std::map<std::string, std::vector<HfLayer>> parts_of(const HfConfig& config) {
  std::map<std::string, std::vector<HfLayer>> out;
  for (const HfLayer& layer : config.layers) out[layer.part].push_back(layer);
  return out;
}

}  // namespace

std::vector<HfLayerDifference> diff_layers(const HfConfig& a, const HfConfig& b) {
  auto of_a = parts_of(a), of_b = parts_of(b);
  for (const auto& [part, layers] : of_b) of_a[part];
  std::vector<HfLayerDifference> out;
  for (const auto& [part, layers_a] : of_a) {
    const std::vector<HfLayer>& layers_b = of_b[part];
    std::vector<HfLayerDifference> found;
    std::vector<std::vector<Index>> numbers;  // of the layers of each difference
    for (std::size_t i = 0; i < std::max(layers_a.size(), layers_b.size()); ++i) {
      const MaybeLayer one = i < layers_a.size() ? MaybeLayer(layers_a[i]) : std::nullopt;
      const MaybeLayer other = i < layers_b.size() ? MaybeLayer(layers_b[i]) : std::nullopt;
      if (same_mask(one, other)) continue;
      const auto at = std::ranges::find_if(found, [&](const HfLayerDifference& each) {
        return same_mask(each.a, one) && same_mask(each.b, other);
      });
      const auto place = static_cast<std::size_t>(at - found.begin());
      if (at == found.end()) {
        found.push_back({{}, one, other});
        numbers.emplace_back();
      }
      numbers[place].push_back(static_cast<Index>(i));
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i].layers =
          fmt::format("{}{}{}", part, part.empty() ? "" : " ", ranges_text(ranges_of(numbers[i])));
      out.push_back(std::move(found[i]));
    }
  }
  return out;
}

}  // namespace maskctl
