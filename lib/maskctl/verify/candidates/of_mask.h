// Candidates that apply another mask; private to verify.
#pragma once

#include <memory>
#include <span>

#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/candidates/candidate.h"

namespace maskctl::attention {

Candidates of_masks(const std::shared_ptr<const CallVariants>& call,
                    std::span<const Neighbour> masks);

}  // namespace maskctl::attention
