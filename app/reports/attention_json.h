// The results of the commands that run attention, and their JSON form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/attention/calls/by_name.h"
#include "maskctl/verify/probe_verdict.h"

namespace maskctl::app {

/// The result of `probe read`.
struct ProbeReport {
  std::string declared, applied;      // SOURCEs of the two masks
  Index declared_open = 0;            // of as many batches and heads as the applied mask has
  DType precision = DType::kFloat32;  // dtype of the kernel's outputs
  attention::ProbeVerdict found;
};

/// Statistics of an array. NaN and infinite elements are counted in not_finite and ignored
/// otherwise.
struct ArraySummary {
  std::string name;
  std::string dtype;
  std::vector<Index> shape;
  double least = 0, most = 0, mean = 0;
  Index not_finite = 0;
};

/// The median of numbers, and the least and the greatest.
struct BenchSpread {
  double median = 0, least = 0, most = 0;
};

/// One line of `bench`.
struct BenchLine {
  std::string operation, mask, backend, pass;  // pass: "forward" or "backward"
  Index size = 0;
  Index repeats = 0;
  BenchSpread seconds;
  /// The time of each round divided by that of the first mask and backend for the same operation,
  /// size and pass.
  BenchSpread ratio;
  // GFLOP/s: `useful` counts the open cells, `executed` all cells that are computed; 0: unknown.
  double useful = 0, executed = 0;
  double bandwidth = 0;  // GB/s, if each array is read or written once
};

/// The work of one rank in the last timed run of a call.
struct RankLine {
  Index queries = 0, pairs = 0;  // queries of this rank; open cells in their rows
  // Seconds, summed over the ring steps. Without steps, `worked` is the time of the whole call.
  double worked = 0, waited = 0;
  std::vector<Index> sent;  // bytes sent in each step
};

/// The result of `bench --mesh` for one call.
struct RankBenchReport {
  std::string operation, mask, backend;
  Index size = 0, repeats = 0;
  double forward = 0;              // seconds of the slowest rank
  std::optional<double> backward;  // absent: backward was not timed
  std::vector<RankLine> ranks;

  /// The largest value of all ranks divided by the mean (1: perfectly balanced), for the open cells
  /// and for the time worked.
  double predicted_imbalance() const;
  double measured_imbalance() const;
};

/// A row of `backends`: one implementation of an operation.
struct BackendLine {
  std::string operation, platform, device, implementation;
  bool chosen = false;
  std::string reason;
};
/// The CPU as `backends` reports it: vector instructions and threads.
struct MachineReport {
  std::string instructions;
  int threads = 0;
};

Json probe_json(const ProbeReport& report);
Json attend_json(const std::string& operation, const std::string& backend,
                 std::span<const ArraySummary> arrays);
Json bench_json(const MachineReport& machine, std::span<const BenchLine> lines);
Json rank_bench_json(const MachineReport& machine, const std::string& mesh,
                     const std::string& assign, std::span<const RankBenchReport> runs);
/// An empty `tensor_cores` is left out of the JSON.
Json backends_json(const MachineReport& machine, const std::string& tensor_cores,
                   std::span<const BackendLine> lines);

}  // namespace maskctl::app
