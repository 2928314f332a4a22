// The options and the verdict of `verify`, which golden files ask too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/ranks.h"
#include "app/session/options.h"
#include "maskctl/verify/solve/explain.h"

namespace maskctl::app {

struct VerifyOptions {
  CallOptions call;
  std::string operation = "flash_attention";
  attention::Backend backend = attention::Backend::kCpu;
  attention::Backend against = attention::Backend::kReference;
  std::vector<std::string> given;  // results to test: [NAME=]SOURCE
  std::optional<double> relative, absolute;
  bool no_gradients = false;
  bool solve = false;    // --solve: compute the mask instead of testing one
  OutputOptions output;  // where to write the mask that the results obey
  RankOptions ranks;
  bool json = false;
};

void declare_verify(OptionList& list, VerifyOptions& options);

/// Judges the results of --given, or the backend. Throws like attention::verify(), judge_fully()
/// and solve_fully().
attention::FullVerdict full_verdict(const VerifyOptions& options, Session& session);

/// The exit status for a verdict: 0 if the results obey the mask, 2 if that is undecided, else 1.
int status_of(attention::Verdict verdict);

}  // namespace maskctl::app
