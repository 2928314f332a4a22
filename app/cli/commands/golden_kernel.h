// Golden entries with a kernel's run: checks whether it obeys the declared mask.
#pragma once

#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/golden/golden.h"

namespace maskctl::app {

/// `how` says how the mask of the entry is read, including steps. The arrays and options of
/// entry.kernel are those of `verify`; out, lse and grad_* are results of the kernel.
GoldenResult judge_kernel(const GoldenEntry& entry, const SourceOptions& how, Session& session);

}  // namespace maskctl::app
