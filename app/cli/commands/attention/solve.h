// verify --solve: computes from a kernel's output which mask the kernel applied.
#pragma once

#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/command.h"
#include "app/reports/solved_report.h"
#include "maskctl/verify/solve/explain.h"

namespace maskctl::app {

/// Writes the solved mask, if there is a destination. The answer says how it differs from the
/// declared mask, and which pages or blocks the kernel read.
Answer solved_answer(const VerifyOptions& options, attention::SolvedVerdict found,
                     const Session& session);

/// What there is to report about a mask that was solved.
SolvedReport solved_report(const VerifyOptions& options, attention::SolvedVerdict found);

}  // namespace maskctl::app
