// Ranks inside this process, each on a device of its backend.
#pragma once

#include <functional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/ring/communicator.h"

namespace maskctl::attention {

/// run_ring() with rank r on device r of the backend, or r modulo the number of its devices.
void run_on_devices(Backend backend, Index ranks, const std::function<void(Communicator&)>& f);

}  // namespace maskctl::attention
