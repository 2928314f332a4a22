// What all ranks have, brought to rank 0.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/attention/sharded/placed_array.h"

namespace maskctl::attention {

/// Gives a result from its first to its last element: `take` gets one band after another, each a
/// stretch of the whole of at most 16 MiB, in its shape there.
using GiveBands = std::function<void(const std::string& name,
                                     const std::function<void(const Tensor& band)>& take)>;

/// Calls `f` in rank 0, which may go through any result, any number of times, and never holds more
/// of it than its own part and a band; the others send their parts until `f` returns. Every rank
/// calls it.
void at_rank_0(Communicator& world, const PlacedResults& results,
               const std::function<void(const GiveBands& give)>& f);

/// Gives rank 0 the whole results; the others get none. Every rank calls it.
NamedResults assembled(Communicator& world, const PlacedResults& results);

/// Returns when every rank has called it.
void meet(Communicator& world);

/// The texts of all ranks, at rank 0; the others get nothing.
std::vector<std::string> gathered_texts(Communicator& world, const std::string& own);

}  // namespace maskctl::attention
