#include "app/cli/commands/attention/bench_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "maskctl/attention/ring/rank.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using attention::Communicator;
using attention::RankCall;
using attention::RingStep;

/// The times of one rank. Ranks send them to rank 0 as a line of numbers.
struct RankTimes {
  double forward = 0, backward = 0;  // seconds, medians
  RankLine line;

  std::string text() const {
    return fmt::format("{} {} {} {} {} {} {}", forward, backward, line.queries, line.pairs,
                       line.worked, line.waited, joined(line.sent, " "));
  }
  static RankTimes from(const std::string& text) {
    RankTimes out;
    RankLine& line = out.line;
    std::istringstream in(text);
    in >> out.forward >> out.backward >> line.queries >> line.pairs >> line.worked >> line.waited;
    for (Index bytes = 0; in >> bytes;) line.sent.push_back(bytes);
    return out;
  }
};

double median(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

/// The number of open cells in the rows of this rank's queries, over all batches and heads of the
/// mask.
Index pairs_of(const RankCall& call, const Mask& mask) {
  const std::vector<Range> queries = call.ring().share("Tq");
  return queries.empty() ? mask.count() : rows_of(mask, queries).count();
}

RankTimes measured(SplitCall& split, const Mask& mask, Index repeats, Communicator& world) {
  RankCall& call = split.ranked();
  const attention::NamedResults parts = split.read();
  std::vector<double> forward, backward;
  for (Index i = 0; i <= repeats; ++i) {
    attention::NamedResults copies = parts;
    attention::meet(world);
    call.run(std::move(copies));
    if (i == 0) continue;
    forward.push_back(call.times().forward);
    backward.push_back(call.times().backward);
  }
  RankTimes out{median(std::move(forward)), median(std::move(backward)), {}};
  RankLine& line = out.line;
  line.pairs = pairs_of(call, mask);
  for (const Range& range : call.ring().share("Tq")) line.queries += range.size();
  for (const RingStep& step : call.steps()) {
    line.worked += step.seconds, line.waited += step.waited;
    line.sent.push_back(step.bytes);
  }
  // In a call without ring steps, the whole time counts as work.
  if (line.sent.empty()) line.worked = out.forward + out.backward;
  return out;
}

std::string text_of(const RankBenchReport& run, const RankOptions& options) {
  std::string out = fmt::format("{} under {}, mesh {}, {}, {}\n", run.operation, run.mask,
                                options.mesh, options.assign_name(), run.backend);
  out += fmt::format("{:<12}{:.3f} ms forward", "slowest", run.forward * 1e3);
  if (run.backward) out += fmt::format(", {:.3f} ms backward", *run.backward * 1e3);
  out += fmt::format("\n{:<12}most/mean {:.3f} predicted (pairs), {:.3f} measured (work)\n",
                     "balance", run.predicted_imbalance(), run.measured_imbalance());
  out += fmt::format("{:<6}{:>10}{:>16}{:>12}{:>12}{:>16}  bytes sent in each step\n", "rank",
                     "queries", "pairs", "work ms", "waited ms", "bytes sent");
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const RankLine& rank = run.ranks[r];
    out += fmt::format("{:<6}{:>10}{:>16}{:>12.3f}{:>12.3f}{:>16}  {}\n", r, rank.queries,
                       rank.pairs, rank.worked * 1e3, rank.waited * 1e3,
                       std::accumulate(rank.sent.begin(), rank.sent.end(), Index{0}),
                       joined(rank.sent, " "));
  }
  return out;
}

}  // namespace

RankBenchReport bench_over_ranks(const RankOptions& options, RankBench bench, Communicator& world) {
  const Mask mask = bench.arguments.mask.value_or(Mask());
  RankBenchReport report = std::move(bench.report);
  const bool backward = bench.arguments.gradient_seed.has_value();
  SplitCall split(*bench.operation, options, std::move(bench.arguments), std::move(bench.arrays),
                  world);
  const RankTimes own = measured(split, mask, report.repeats, world);
  for (const std::string& text : attention::gathered_texts(world, own.text())) {
    RankTimes rank = RankTimes::from(text);
    report.forward = std::max(report.forward, rank.forward);
    if (backward) report.backward = std::max(report.backward.value_or(0), rank.backward);
    report.ranks.push_back(std::move(rank.line));
  }
  return report;
}

std::string rank_bench_text(const RankOptions& options, std::span<const RankBenchReport> runs) {
  std::string text;
  for (const RankBenchReport& run : runs)
    text += (text.empty() ? "" : "\n") + text_of(run, options);
  return text;
}

}  // namespace maskctl::app
