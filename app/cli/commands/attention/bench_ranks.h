// bench over ranks: times, balance, and what ranks send each other.
#pragma once

#include <span>

#include "app/cli/commands/attention/ranks.h"
#include "app/reports/attention_json.h"

namespace maskctl::app {

/// One call to time: an operation under a mask.
struct RankBench {
  const attention::Operation* operation;
  RankBenchReport report;               // names and sizes; the run adds ranks and times
  attention::NamedArguments arguments;  // with mask and backend; a seed where gradients are timed
  RankArrays arrays;
};

/// Runs the benchmark in every rank, once untimed; the report is that of rank 0.
RankBenchReport bench_over_ranks(const RankOptions& options, RankBench bench,
                                 attention::Communicator& world);

std::string rank_bench_text(const RankOptions& options, std::span<const RankBenchReport> runs);

}  // namespace maskctl::app
