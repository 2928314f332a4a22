// verify --solve: computes from a kernel's output which mask the kernel applied.
#pragma once

#include <string_view>

#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/command.h"
#include "maskctl/attention/verify/solve/solve.h"

namespace maskctl::app {

/// What a kernel reads as a unit: "pages" or "blocks" of `size` keys. 0: it reads single keys.
struct KeyUnit {
  std::string_view plural;
  Index size = 0;
};

/// Writes the solved mask, if there is a destination. The answer says how it differs from the
/// declared mask, and which pages or blocks the kernel read.
Answer solved_answer(const VerifyOptions& options, const Mask& declared,
                     attention::SolvedMask solved, const Session& session, KeyUnit unit = {});

}  // namespace maskctl::app
