// Reads environment variables.
#pragma once

#include "app/session/session.h"

namespace maskctl::app {

/// The value of a variable, or "" if it is not set.
const char* environment(const char* name);

/// Changes settings by MASKCTL_MAX_BYTES, MASKCTL_THREADS and MASKCTL_COLOR. Throws an Error that
/// names the variable if its value is invalid.
void read_environment(Settings& settings);

/// Writes a trace of MaskInfo to stderr if settings.trace or EJKERNEL_MASK_DEBUG=1 asks for it.
/// Only settings.trace prints a first line that announces it; ejkernel itself does not print one.
void start_trace(const Settings& settings);

}  // namespace maskctl::app
