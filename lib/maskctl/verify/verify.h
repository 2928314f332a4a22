// Verifies that a backend applies a mask: it agrees with another backend, its weights and gradients
// reach exactly the open cells, and closed cells cannot influence the results.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/verify/request.h"

namespace maskctl::attention {

/// All checks that a call can have, in this order. Checks that do not apply are skipped and say
/// why.
///   forward, gradients the results agree within the tolerance
///   declared mask      `against` applies the declared mask
///   weights            the mask read from outputs for one-hot values, as `probe` does, is the mask
///   gradient support   the value gradients of one-hot cotangents reach exactly the open cells
/// Only for softmax attention over single keys:
///   unseen keys        NaN in keys that no query sees changes no bit of results and gradients
///   closed keys        large changes of a key change no bit of a row that does not see it
/// Only for other operations, which no mask describes:
///   unread inputs      NaN in rows of inputs that `against` does not read changes no bit
///   other outputs      large changes of a row change no bit of elements computed without it
/// Weights that are dropped at random are not part of a mask, so the checks of the mask run without
/// dropout. The checks expect NaN, or the mean of all values, in rows without a key if the call's
/// policy says so. A key is one vector of K and V, or one row of a latent (and of its rotary part).
/// Throws what the operation throws, and Error(kLimit) for softmax attention with more than 2^33
/// open pairs of a query and a key, summed over batch entries and heads.
std::vector<VerifyCheck> verify(const VerifyRequest& request);

/// The mask that a call applies, including other arguments that close cells: `declared`, or else
/// the mask that the weights of the reference show. Absent for operations without a mask, and for
/// more than 2^26 cells.
std::optional<Mask> applied_mask(const VerifyRequest& request);

bool all_passed(const std::vector<VerifyCheck>& checks);

}  // namespace maskctl::attention
