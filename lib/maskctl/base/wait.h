// Waiting for a descriptor in a way that a stop request can end.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

/// Waits until a descriptor is ready for `events` (POLLIN, POLLOUT), or until its other end is
/// gone, as the next read or write tells. Returns false when `milliseconds` have passed; -1 waits
/// for ever. Throws Error(kCancelled) soon after a stop request of the current scope.
bool wait_ready(int fd, short events, Index milliseconds = -1);

}  // namespace maskctl
