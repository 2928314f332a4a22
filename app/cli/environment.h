// Variables of the environment.
#pragma once

#include "app/session/session.h"

namespace maskctl::app {

/// The variable, or "" when unset.
const char* environment(const char* name);

/// Reads MASKCTL_MAX_BYTES, MASKCTL_THREADS, MASKCTL_COLOR. Throws Error naming the variable.
void read_environment(Settings& settings);

/// Sends the trace of MaskInfo to stderr if settings.trace or EJKERNEL_MASK_DEBUG=1 asks for it;
/// with the variable alone it is not announced, as in ejkernel.
void start_trace(const Settings& settings);

}  // namespace maskctl::app
