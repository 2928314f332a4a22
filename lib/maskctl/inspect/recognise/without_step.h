// Forms of masks that no step makes, in words.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// Describes forms of masks that no step makes, once for each batch entry or each plane, at most
/// four times:
/// - documents of which some are causal and some see all of themselves, or that have prefixes of
///   different lengths: "documents 0, 2 are causal; documents 1, 3 see all of themselves, in
///   documents of 6+9+5+12 tokens";
/// - queries that see the keys before a border that never moves back, as after keys were evicted
///   from a cache: "causal, where the keys are of tokens 0-3, 7, 9, and query q is token q";
/// - "neighbourhood of 5x5 in a grid with rows of 10 tokens, clipped at its borders".
///
/// `made_by`: steps that make the mask exactly, if such are known: then only documents are
/// described, and only if some of the steps are global tokens, regions or arrays.
std::vector<std::string> forms_without_step(const Mask& mask, const Chain* made_by = nullptr);

}  // namespace maskctl
