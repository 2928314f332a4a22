// Pipelines of many batches in few words.
#pragma once

#include <string>

#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The text of a chain. Where that is longer than some lines, five or more batch: steps that follow
/// each other are counted by what they are made of: "(32 batches: doc of 3 to 9 documents |
/// causal)". Such a text is no pipeline. The arrays of the chain must have names.
std::string summary_text(const Chain& chain);

}  // namespace maskctl
