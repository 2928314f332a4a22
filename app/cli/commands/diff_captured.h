// `diff` of two captured runs: in which layers did they apply other masks?
#pragma once

#include <string>
#include <vector>

#include "app/cli/commands/command.h"
#include "maskctl/inspect/diff/captured.h"

namespace maskctl::app {

/// A captured run, and what answers call it.
struct NamedRun {
  std::string name;
  std::vector<CapturedLayer> layers;
};

struct RunsOptions {
  bool json = false;
  bool all = false;  // pipelines in full, however long
  std::string dest;  // file for the arrays that the pipelines of causes read
  bool force = false;
};

/// Exit status 1 if a layer has another mask in B than in A, or is in one alone; 2 if nothing
/// differs and not all was compared.
Answer diff_captured_runs(const NamedRun& a, const NamedRun& b, const RunsOptions& options,
                          Session& session);

}  // namespace maskctl::app
