// Candidates that apply the declared mask in another call; private to verify.
#pragma once

#include <memory>

#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/candidates/candidate.h"

namespace maskctl::attention {

/// Other meanings of an argument: the other policies for rows without a key, if there are such
/// rows; query head h reading key head h mod Hkv instead of h / (Hq / Hkv).
Candidates of_readings(const std::shared_ptr<const CallVariants>& call);

/// Arguments that were dropped or applied wrongly: no sinks, sinks counted twice; no soft cap, a
/// soft cap after the mask; no bias, its negative; the mask added to logits as 0 and 1.
Candidates of_arguments(const std::shared_ptr<const CallVariants>& call);

/// For an operation that goes from token to token (Operation::over_borders): borders of sequences
/// ignored or a token off; no initial state; no decay; beta, the lengths of keys, the activation or
/// the order of taps taken otherwise.
Candidates of_states(const std::shared_ptr<const CallVariants>& call);

/// For a call that gives an lse: the lse converted to base 2 or from base 2, the lse without the
/// maximum, and the maximum alone.
Candidates of_lse(const std::shared_ptr<const CallVariants>& call);

}  // namespace maskctl::attention
