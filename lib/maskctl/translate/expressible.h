// Whether a call of a library can express a mask, of which often only the cells are known; shared
// with the command.
#pragma once

#include <optional>
#include <string>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/translate/conventions.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl {

/// The steps that make a mask, or why they are not known.
struct KnownSteps {
  std::optional<Chain> chain;  // applied to an all-open mask, it gives the mask exactly
  std::string unknown;         // why there is no chain; empty if there is one
};

/// The steps that recognise() finds. Not known if they leave a cell wrong.
KnownSteps known_steps(const Mask& mask);
/// The steps of the mask of a layer. Not known if the layer has no mask that is known.
KnownSteps known_steps(const HfLayer& layer);

struct Expressible {
  enum class Answer : std::uint8_t { kYes, kCannot, kNotKnown };
  Answer answer = Answer::kNotKnown;
  std::string why;  // kCannot: what the library lacks; kNotKnown: why the steps are not known
};

/// Whether translate() can write these steps for the library.
Expressible expressible(const KnownSteps& steps, const Library& library);

}  // namespace maskctl
