// Waiting for a file descriptor, with an end when the work is asked to stop.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

/// Waits until a descriptor is ready for `events` (POLLIN, POLLOUT), or until its other end is
/// closed, which the next read or write will report. Returns false after `milliseconds`; -1 waits
/// without limit. Throws Error(kCancelled) soon after a stop request of the current scope.
bool wait_ready(int fd, short events, Index milliseconds = -1);

}  // namespace maskctl
