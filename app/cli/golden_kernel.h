// Entries of golden manifests that hold a kernel's run: whether it obeys the declared mask.
#pragma once

#include "app/cli/options.h"
#include "maskctl/golden/golden.h"

namespace maskctl::app {

/// `how`: how the mask of the entry is read, steps included. The arrays and options of
/// entry.kernel are those of `verify`; out, lse and grad_* are what the kernel gave.
GoldenResult judge_kernel(const GoldenEntry& entry, const SourceOptions& how,
                          const GlobalOptions& globals);

}  // namespace maskctl::app
