// What all ranks have, brought to rank 0.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/sharded/rank_call.h"

namespace maskctl::attention {

/// Gives rank 0 the whole results; the others get none. Every rank calls it.
NamedResults assembled(Communicator& world, const PlacedResults& results);

/// Returns when every rank has called it.
void meet(Communicator& world);

/// What every rank says, at rank 0; the others get nothing.
std::vector<std::string> gathered_texts(Communicator& world, const std::string& own);

}  // namespace maskctl::attention
