// bench over ranks: times, balance, and what ranks send each other.
#pragma once

#include "app/cli/commands/attention/ranks.h"

namespace maskctl::app {

/// One call to time: an operation under a mask.
struct RankBench {
  const attention::Operation* operation;
  std::string mask;                     // as it was given
  attention::NamedArguments arguments;  // with the mask and the backend; a seed for gradients
  RankArrays arrays;
  Index repeats = 5;
};

/// Runs it in every rank, once untimed; the report of rank 0.
std::string bench_over_ranks(const RankOptions& options, RankBench bench,
                             attention::Communicator& world);

}  // namespace maskctl::app
