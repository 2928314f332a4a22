// verify --solve: the mask that an output obeys, whatever it is.
#pragma once

#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/command.h"
#include "maskctl/attention/verify/solve/solve.h"

namespace maskctl::app {

/// Writes the mask and says how it differs from the declared one. `page_size`: keys of a page, 0
/// where keys are not in pages.
Answer solved_answer(const VerifyOptions& options, const Mask& declared,
                     attention::SolvedMask solved, const Session& session, Index page_size = 0);

}  // namespace maskctl::app
