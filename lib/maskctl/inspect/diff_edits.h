// Small changes of a chain, tried one after the other; private to inspect.
#pragma once

#include "maskctl/inspect/diff_reason.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// The chain gives pair.a. Looks for one number moved by 1 or by K - Q, or one step left out, that
/// gives pair.b. `reversed`: the words tell the way from pair.b to pair.a.
MaybeReason edited_to(const Chain& chain, const PlanePair& pair, bool reversed);

}  // namespace maskctl
