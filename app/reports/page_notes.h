// What is known beside the cells of a mask, for a page that shows it.
#pragma once

#include "maskctl/inspect/check/check.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/render/figure/page_notes.h"

namespace maskctl::app {

/// The steps of the chain with the cells that each decided, and the findings of a check of the mask
/// that they make of `start`. Throws what apply() throws.
PageNotes page_notes(const Mask& start, const Chain& chain, const CheckResult& found);

}  // namespace maskctl::app
