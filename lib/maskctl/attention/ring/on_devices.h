// Runs the ranks of a ring inside this process, each on a device of the backend.
#pragma once

#include <functional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/ring/communicator.h"

namespace maskctl::attention {

/// Like run_ring(); rank r runs on device r of the backend, modulo the number of devices.
void run_on_devices(Backend backend, Index ranks, const std::function<void(Communicator&)>& f);

}  // namespace maskctl::attention
