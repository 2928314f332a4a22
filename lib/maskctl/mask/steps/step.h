// Transforms as data: a step is one rule with its arguments; a chain is a list of steps.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/random.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl {

struct Step {
  using Rule =
      std::variant<step::Causal, step::Window, step::Chunk, step::Document, step::DocumentLengths,
                   step::Pad, step::Dilated, step::Block, step::Random, step::Prefix, step::Sinks,
                   step::Global, step::Region, step::Combine, step::Tokens, step::Not, step::Slice,
                   step::KvLengths, step::Scoped, step::Within>;
  Rule rule;
  friend bool operator==(const Step&, const Step&) = default;
};

/// Applies one step, or a chain from left to right. Errors name the rule and what does not fit.
/// Throws Error(kShape, kInvalidArgument).
Mask apply(const Mask& mask, const Step& step);
Mask apply(Mask mask, std::span<const Step> chain);

}  // namespace maskctl
