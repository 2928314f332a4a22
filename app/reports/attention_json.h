// The results of the commands that run attention, and their JSON form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/verify/judge.h"
#include "maskctl/inspect/diff/diff.h"

namespace maskctl::app {

/// The result of `probe read`.
struct ProbeReport {
  std::string declared, applied;  // SOURCEs
  Index declared_open = 0, applied_open = 0, cells = 0;
  MaskDiff diff;      // between the declared mask (a) and the applied one (b)
  std::string cause;  // what explains all differences; empty if nothing does
  Index averaged_rows = 0, nan_rows = 0;
  Index untold = 0;                   // cells declared open, but of weight 0, which proves nothing
  DType precision = DType::kFloat32;  // dtype of the kernel's outputs
};

/// Figures of an array; NaN and infinities are counted, and left out of the other figures.
struct ArraySummary {
  std::string name;
  std::string dtype;
  std::vector<Index> shape;
  double least = 0, most = 0, mean = 0;
  Index not_finite = 0;
};

/// One line of `bench`.
struct BenchLine {
  std::string operation, mask, backend, pass;  // "forward", "backward"
  Index size = 0;
  Index repeats = 0;
  double median = 0, least = 0, most = 0;  // seconds
  double useful = 0, executed = 0;         // GFLOP/s; 0 if unknown
  double bandwidth = 0;                    // GB/s, if each array is read or written once
};

/// What one rank did in the last run of a call.
struct RankLine {
  Index queries = 0, pairs = 0;   // the queries that the rank has, and their open pairs
  double worked = 0, waited = 0;  // seconds of all steps; of the call where it has none
  std::vector<Index> sent;        // bytes of each step
};

/// One call of `bench` over ranks.
struct RankBenchReport {
  std::string operation, mask, backend;
  Index size = 0, repeats = 0;
  double forward = 0;              // seconds of the slowest rank
  std::optional<double> backward;  // absent: was not asked for
  std::vector<RankLine> ranks;

  /// Most / mean of what the ranks have, or of how long they work; 1 is even.
  double predicted_imbalance() const;
  double measured_imbalance() const;
};

/// One kernel of an operation.
struct BackendLine {
  std::string operation, platform, device, implementation;
  bool chosen = false;
  std::string reason;
};
/// What `backends` reports about this machine.
struct MachineReport {
  std::string instructions;
  int threads = 0;
};

std::string probe_json(const ProbeReport& report);
std::string attend_json(const std::string& operation, const std::string& backend,
                        std::span<const ArraySummary> arrays);
std::string verify_json(const std::string& operation, const attention::GivenReport& report);
std::string bench_json(const MachineReport& machine, std::span<const BenchLine> lines);
std::string rank_bench_json(const MachineReport& machine, const std::string& mesh,
                            const std::string& assign, std::span<const RankBenchReport> runs);
/// `tensor_cores` is left out where it is empty.
std::string backends_json(const MachineReport& machine, const std::string& tensor_cores,
                          std::span<const BackendLine> lines);

}  // namespace maskctl::app
