// Checks golden entries with a recorded kernel call: whether its output obeys the declared mask.
#pragma once

#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/golden/golden.h"

namespace maskctl::app {

/// `how` says how to read the mask of the entry, and its steps. entry.kernel has the arrays and
/// options of `verify`; out, lse and grad_* in it are the kernel's results.
GoldenResult judge_kernel(const GoldenEntry& entry, const SourceOptions& how, Session& session);

}  // namespace maskctl::app
