// Makes the notes of a page that shows a mask: its steps and findings.
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
