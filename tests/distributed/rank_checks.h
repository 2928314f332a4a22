// What must hold for calls over ranks, whether these are threads or processes.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/ring/communicator.h"

namespace maskctl::rank_test {

/// Runs every check that fits the number of ranks, on a backend; each rank calls it. What failed,
/// one line each, at rank 0: "ring_attention, mesh sp=4: grad_key differs by 0.5".
std::vector<std::string> failures(attention::Communicator& world, attention::Backend backend);

/// Sends a message of so many bytes from each rank to the next: whether all ranks got theirs.
bool messages_arrive(attention::Communicator& world, Index bytes);

}  // namespace maskctl::rank_test
