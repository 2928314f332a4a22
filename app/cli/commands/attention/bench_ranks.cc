#include "app/cli/commands/attention/bench_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "maskctl/attention/operations/ring/ring.h"

namespace maskctl::app {
namespace {

using attention::Communicator;
using attention::RankCall;
using attention::RingStep;

/// What one rank has to report; as a line of numbers on the way to rank 0.
struct RankReport {
  Index queries = 0, pairs = 0;
  double forward = 0, backward = 0;  // seconds, medians
  double worked = 0, waited = 0;     // of all steps of the last run
  std::vector<Index> sent;           // bytes of each step

  std::string line() const {
    return fmt::format("{} {} {} {} {} {} {}", queries, pairs, forward, backward, worked, waited,
                       fmt::join(sent, " "));
  }
  static RankReport from(const std::string& line) {
    RankReport out;
    std::istringstream in(line);
    in >> out.queries >> out.pairs >> out.forward >> out.backward >> out.worked >> out.waited;
    for (Index bytes = 0; in >> bytes;) out.sent.push_back(bytes);
    return out;
  }
};

double median(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

/// Open pairs of the queries that this rank has, of all batches and heads of the mask.
Index pairs_of(const RankCall& call, const Mask& mask) {
  if (call.ring().queries.empty()) return mask.count();
  return rows_of(mask, call.ring().queries).count();
}

RankReport measured(SplitCall& split, const Mask& mask, Index repeats, Communicator& world) {
  RankCall& call = split.ranked();
  const attention::NamedResults parts = split.read();
  RankReport report;
  std::vector<double> forward, backward;
  for (Index i = 0; i <= repeats; ++i) {
    attention::NamedResults copies = parts;
    attention::meet(world);
    call.run(std::move(copies));
    if (i == 0) continue;
    forward.push_back(call.times().forward);
    backward.push_back(call.times().backward);
  }
  report.forward = median(std::move(forward)), report.backward = median(std::move(backward));
  report.pairs = pairs_of(call, mask);
  for (const Range& range : call.ring().queries) report.queries += range.size();
  for (const RingStep& step : call.steps()) {
    report.worked += step.seconds, report.waited += step.waited;
    report.sent.push_back(step.bytes);
  }
  return report;
}

/// Most / mean; 1 is even.
template <class Member>
double imbalance(const std::vector<RankReport>& ranks, Member member) {
  double most = 0, sum = 0;
  for (const RankReport& rank : ranks) {
    most = std::max(most, static_cast<double>(rank.*member));
    sum += static_cast<double>(rank.*member);
  }
  return sum > 0 ? most * static_cast<double>(ranks.size()) / sum : 1;
}

std::string text_of(const RankBench& bench, const RankOptions& options,
                    const std::vector<RankReport>& ranks) {
  const auto slowest = [&](double RankReport::*seconds) {
    return std::ranges::max(ranks, {}, seconds).*seconds * 1e3;
  };
  std::string out =
      fmt::format("{} under {}, mesh {}, {}\n", bench.operation->name, bench.mask, options.mesh,
                  options.assign.empty() ? "contiguous" : options.assign);
  out += fmt::format("{:<12}{:.3f} ms forward", "slowest", slowest(&RankReport::forward));
  if (bench.arguments.gradient_seed) {
    out += fmt::format(", {:.3f} ms backward", slowest(&RankReport::backward));
  }
  out +=
      fmt::format("\n{:<12}most/mean {:.3f} predicted (pairs), {:.3f} measured (work)\n", "balance",
                  imbalance(ranks, &RankReport::pairs), imbalance(ranks, &RankReport::worked));
  out += fmt::format("{:<6}{:>10}{:>16}{:>12}{:>12}{:>16}  bytes sent in each step\n", "rank",
                     "queries", "pairs", "work ms", "waited ms", "bytes sent");
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankReport& rank = ranks[r];
    out += fmt::format("{:<6}{:>10}{:>16}{:>12.3f}{:>12.3f}{:>16}  {}\n", r, rank.queries,
                       rank.pairs, rank.worked * 1e3, rank.waited * 1e3,
                       std::accumulate(rank.sent.begin(), rank.sent.end(), Index{0}),
                       fmt::join(rank.sent, " "));
  }
  return out;
}

}  // namespace

std::string bench_over_ranks(const RankOptions& options, RankBench bench, Communicator& world) {
  const Mask mask = bench.arguments.mask.value_or(Mask());
  SplitCall split(*bench.operation, options, bench.arguments, std::move(bench.arrays), world);
  const RankReport own = measured(split, mask, bench.repeats, world);
  std::vector<RankReport> ranks;
  for (const std::string& line : attention::gathered_texts(world, own.line())) {
    ranks.push_back(RankReport::from(line));
  }
  return ranks.empty() ? "" : text_of(bench, options, ranks);
}

}  // namespace maskctl::app
