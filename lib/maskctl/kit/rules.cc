#include "maskctl/kit/rules.h"

#include <array>

namespace maskctl::kit {

std::string_view name(Asks asks) {
  static constexpr std::string_view kNames[] = {"out", "lse", "gradients"};
  return kNames[static_cast<std::size_t>(asks)];
}

std::span<const Section> sections() {
  static const std::array<Section, 3> kSections = {
      {{"Pairs", rules_of_masks()}, {"Tokens", rules_of_tokens()}, {"Numbers", rules_of_calls()}}};
  return kSections;
}

}  // namespace maskctl::kit
