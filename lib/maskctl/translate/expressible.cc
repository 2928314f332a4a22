#include "maskctl/translate/expressible.h"

#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/translate.h"

namespace maskctl {

KnownSteps known_steps(const Mask& mask) {
  Recognised found = recognise(mask);
  if (found.residue.cells > 0) return {{}, "the steps that recognise finds make other cells"};
  return {std::move(found.chain), ""};
}

KnownSteps known_steps(const HfLayer& layer) {
  if (!layer.has_mask) return {{}, layer.type + " has no mask that is known"};
  return {chain_of(layer), ""};
}

Expressible expressible(const KnownSteps& steps, const Library& library) {
  if (!steps.chain) return {Expressible::Answer::kNotKnown, steps.unknown};
  Translation made =
      translate(*steps.chain, library, [](const Step& step) { return to_text(Chain{step}); });
  if (made.ok()) return {Expressible::Answer::kYes, ""};
  return {Expressible::Answer::kCannot, std::move(made.refusal)};
}

}  // namespace maskctl
