// Brings the parts of all ranks to rank 0.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/attention/sharded/placed_array.h"

namespace maskctl::attention {

/// Passes a result to `take` in bands, from its first element to its last. A band is a contiguous
/// piece of the result of at most 16 MiB, with the shape that it has there.
using GiveBands = std::function<void(const std::string& name,
                                     const std::function<void(const Tensor& band)>& take)>;

/// Calls `f` on rank 0. `f` may read any result, any number of times; rank 0 holds only its own
/// part and one band (at most 16 MiB of a result) in memory. The other ranks send their parts until
/// `f` returns. Must be called by every rank.
void at_rank_0(Communicator& world, const PlacedResults& results,
               const std::function<void(const GiveBands& give)>& f);

/// Returns the whole results on rank 0, and nothing on other ranks. Must be called by every rank.
NamedResults assembled(Communicator& world, const PlacedResults& results);

/// A barrier: returns when every rank has called it.
void meet(Communicator& world);

/// The texts of all ranks, on rank 0; empty on other ranks.
std::vector<std::string> gathered_texts(Communicator& world, const std::string& own);

}  // namespace maskctl::attention
