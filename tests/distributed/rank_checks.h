// Checks of calls over ranks, which may be threads or processes.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/ring/communicator.h"

namespace maskctl::rank_test {

/// Runs every check that fits the number of ranks, on a backend; each rank calls it. Returns at
/// rank 0 one line per failure: "ring_attention, mesh sp=4: grad_key differs by 0.5".
std::vector<std::string> failures(attention::Communicator& world, attention::Backend backend);

/// Sends a message of `bytes` bytes from each rank to the next; returns whether all arrived intact.
bool messages_arrive(attention::Communicator& world, Index bytes);

}  // namespace maskctl::rank_test
