// What the commands that run attention found out, and its JSON form.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/verify/judge.h"
#include "maskctl/inspect/diff.h"

namespace maskctl::app {

/// What `probe read` found out.
struct ProbeReport {
  std::string declared, applied;  // SOURCEs
  Index declared_open = 0, applied_open = 0, cells = 0;
  MaskDiff diff;      // of the declared mask (a) and the applied one (b)
  std::string cause;  // empty: none that explains all
  Index averaged_rows = 0, nan_rows = 0;
  Index untold = 0;                   // cells declared open whose weight of 0 proves nothing
  DType precision = DType::kFloat32;  // of the kernel's outputs
};

/// An array in figures; NaN and infinities are counted and left out of the others.
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
  double useful = 0, executed = 0;         // GFLOP/s; 0: not known
  double bandwidth = 0;                    // GB/s of the arrays read and written once
};

/// One kernel of an operation.
struct BackendLine {
  std::string operation, platform, device, implementation;
  bool chosen = false;
  std::string reason;
};
/// What `backends` says of this machine.
struct MachineReport {
  std::string instructions;
  int threads = 0;
};

std::string probe_json(const ProbeReport& report);
std::string attend_json(const std::string& operation, const std::string& backend,
                        std::span<const ArraySummary> arrays);
std::string verify_json(const std::string& operation, const attention::GivenReport& report);
std::string bench_json(const MachineReport& machine, std::span<const BenchLine> lines);
std::string backends_json(const MachineReport& machine, std::span<const BackendLine> lines);

}  // namespace maskctl::app
