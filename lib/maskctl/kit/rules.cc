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

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> out;
  for (const Section& section : sections()) {
    for (const Rule& rule : section.rules) out.push_back(&rule);
  }
  return out;
}

}  // namespace maskctl::kit
