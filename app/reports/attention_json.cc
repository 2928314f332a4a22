#include "app/reports/attention_json.h"

#include <algorithm>

#include "app/reports/json_parts.h"

namespace maskctl::app {
namespace {

Json json_of(const MachineReport& machine) {
  return {{"instructions", machine.instructions}, {"threads", machine.threads}};
}

Json or_null(double value) { return value > 0 ? Json(value) : Json(nullptr); }

/// The largest value of `member` over all ranks, divided by the mean; 1: perfectly balanced.
template <class Member>
double imbalance(const std::vector<RankLine>& ranks, Member member) {
  double most = 0, sum = 0;
  for (const RankLine& rank : ranks) {
    most = std::max(most, static_cast<double>(rank.*member));
    sum += static_cast<double>(rank.*member);
  }
  return sum > 0 ? most * static_cast<double>(ranks.size()) / sum : 1;
}

}  // namespace

double RankBenchReport::predicted_imbalance() const { return imbalance(ranks, &RankLine::pairs); }
double RankBenchReport::measured_imbalance() const { return imbalance(ranks, &RankLine::worked); }

Json probe_json(const ProbeReport& report) {
  const attention::ProbeVerdict& found = report.found;
  const MaskDiff& diff = found.diff;
  Json out{{"schema", "maskctl.probe/1"},
           {"declared", report.declared},
           {"applied", report.applied},
           {"cells", found.applied.cells()},
           {"declared_open", report.declared_open},
           {"applied_open", found.applied.count()},
           {"equal", diff.equal()},
           {"closed_by_kernel", diff.only_a},
           {"opened_by_kernel", diff.only_b}};
  out["first"] = first_difference(diff, "declared", "applied");
  out["cause"] = found.cause.empty() ? Json(nullptr) : Json(found.cause);
  out["averaged_rows"] = found.averaged_rows;
  out["nan_rows"] = found.nan_rows;
  out["untold"] = found.untold;
  out["faults"] = found.call.faults;
  out["told"] = found.call.told;
  out["not_seen"] = found.call.untold;
  return out;
}

Json attend_json(const std::string& operation, const std::string& backend,
                 std::span<const ArraySummary> arrays) {
  Json out{{"schema", "maskctl.attend/1"}, {"operation", operation}, {"backend", backend}};
  out["arrays"] = Json::array();
  for (const ArraySummary& array : arrays) {
    out["arrays"].push_back({{"name", array.name},
                             {"dtype", array.dtype},
                             {"shape", array.shape},
                             {"min", array.least},
                             {"max", array.most},
                             {"mean", array.mean},
                             {"not_finite", array.not_finite}});
  }
  return out;
}

Json bench_json(const MachineReport& machine, std::span<const BenchLine> lines) {
  Json out{{"schema", "maskctl.bench/1"}, {"machine", json_of(machine)}};
  out["runs"] = Json::array();
  for (const BenchLine& line : lines) {
    out["runs"].push_back(
        {{"operation", line.operation},
         {"mask", line.mask},
         {"size", line.size},
         {"backend", line.backend},
         {"pass", line.pass},
         {"repeats", line.repeats},
         {"median_s", line.seconds.median},
         {"min_s", line.seconds.least},
         {"max_s", line.seconds.most},
         {"ratio",
          {{"median", line.ratio.median}, {"min", line.ratio.least}, {"max", line.ratio.most}}},
         {"useful_gflops", or_null(line.useful)},
         {"executed_gflops", or_null(line.executed)},
         {"gbytes_per_s", or_null(line.bandwidth)}});
  }
  return out;
}

Json rank_bench_json(const MachineReport& machine, const std::string& mesh,
                     const std::string& assign, std::span<const RankBenchReport> runs) {
  Json out{{"schema", "maskctl.bench-ranks/1"},
           {"machine", json_of(machine)},
           {"mesh", mesh},
           {"assign", assign}};
  out["runs"] = Json::array();
  for (const RankBenchReport& run : runs) {
    Json ranks = Json::array();
    for (const RankLine& rank : run.ranks) {
      ranks.push_back({{"queries", rank.queries},
                       {"pairs", rank.pairs},
                       {"worked_s", rank.worked},
                       {"waited_s", rank.waited},
                       {"bytes_sent", rank.sent}});
    }
    out["runs"].push_back({{"operation", run.operation},
                           {"mask", run.mask},
                           {"size", run.size},
                           {"backend", run.backend},
                           {"repeats", run.repeats},
                           {"forward_s", run.forward},
                           {"backward_s", run.backward ? Json(*run.backward) : Json(nullptr)},
                           {"predicted_imbalance", run.predicted_imbalance()},
                           {"measured_imbalance", run.measured_imbalance()},
                           {"ranks", std::move(ranks)}});
  }
  return out;
}

Json backends_json(const MachineReport& machine, const std::string& tensor_cores,
                   std::span<const BackendLine> lines) {
  Json out{{"schema", "maskctl.backends/1"}, {"machine", json_of(machine)}};
  if (!tensor_cores.empty()) out["tensor_cores"] = tensor_cores;
  out["kernels"] = Json::array();
  for (const BackendLine& line : lines) {
    out["kernels"].push_back({{"operation", line.operation},
                              {"platform", line.platform},
                              {"device", line.device},
                              {"implementation", line.implementation},
                              {"chosen", line.chosen},
                              {"reason", line.reason}});
  }
  return out;
}

}  // namespace maskctl::app
