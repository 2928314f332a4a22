// Batch entries and heads that are solved together; private to solve.
#pragma once

#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/verify/solve/call.h"

namespace maskctl::attention::solving {

/// The batch entries and heads of one plane of the supposed mask. They should share a mask, and are
/// solved together.
struct Unit {
  Index b = 0, h = 0;       // the index of that plane in the supposed mask
  std::vector<Head> heads;  // each head is followed by its gradients, if there are any
};

/// Units whose supposed masks are equal.
using Group = std::vector<Unit>;

std::vector<Group> groups_of(const Mask& supposed, const SolveCall& call);

}  // namespace maskctl::attention::solving
