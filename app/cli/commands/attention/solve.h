// verify --solve: the mask that an output obeys, whatever it is.
#pragma once

#include <string_view>

#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/command.h"
#include "maskctl/attention/verify/solve/solve.h"

namespace maskctl::app {

/// What a kernel reads as a whole: "pages" or "blocks" of so many keys; 0: single keys.
struct KeyUnit {
  std::string_view plural;
  Index size = 0;
};

/// Writes the mask and says how it differs from the declared one, and which pages or blocks were
/// read.
Answer solved_answer(const VerifyOptions& options, const Mask& declared,
                     attention::SolvedMask solved, const Session& session, KeyUnit unit = {});

}  // namespace maskctl::app
