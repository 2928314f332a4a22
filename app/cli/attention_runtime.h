// How attend chooses configs: by --policy, --cache and ejkernel's environment variables.
#pragma once

#include <memory>

#include "app/cli/options_attention.h"
#include "maskctl/attention/runtime/runtime.h"

namespace maskctl::app {

/// Null when neither an option nor EJKERNEL_AUTOTUNE_POLICY requests configs; operations then run
/// at once. EJKERNEL_LOG_AUTOTUNE=1 prints the choice on stderr; EJKERNEL_OPS_STAMP (none, hash,
/// json) and EJKERNEL_OPS_PREFIX label calls there; EJKERNEL_OPS_RECORD=1 keeps the calls for
/// print_recorded. Throws Error(kInvalidArgument) naming the variable.
std::unique_ptr<attention::Runtime> make_runtime(const AttendOptions& options,
                                                 const GlobalOptions& globals);

/// One line on stderr for each call that was kept.
void print_recorded(const attention::Runtime& runtime);

}  // namespace maskctl::app
