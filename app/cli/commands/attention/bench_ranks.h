// Times calls that are split over ranks: time, load balance, and bytes sent.
#pragma once

#include <span>

#include "app/cli/commands/attention/ranks.h"
#include "app/reports/attention_json.h"

namespace maskctl::app {

/// An operation with a mask, to be timed.
struct RankBench {
  const attention::Operation* operation;
  RankBenchReport report;  // has names and sizes; bench_over_ranks() adds ranks and times
  // The arguments of the call, with mask and backend, and with gradient_seed if gradients are
  // timed.
  attention::NamedArguments arguments;
  RankArrays arrays;
};

/// Runs the call once untimed, then `repeats` times timed. Every rank must call it; the report is
/// complete at rank 0 only.
RankBenchReport bench_over_ranks(const RankOptions& options, RankBench bench,
                                 attention::Communicator& world);

std::string rank_bench_text(const RankOptions& options, std::span<const RankBenchReport> runs);

}  // namespace maskctl::app
