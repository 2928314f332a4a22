// Forms of masks that no step makes, in words.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// Describes forms of masks that no step makes, once for each batch entry or each plane, at most
/// four times:
/// - queries that see the keys before a border that never moves back, as after keys were evicted
///   from a cache: "causal, where the keys are of tokens 0-3, 7, 9, and query q is token q";
/// - "neighbourhood of 5x5 in a grid with rows of 10 tokens, clipped at its borders".
std::vector<std::string> forms_without_step(const Mask& mask);

}  // namespace maskctl
