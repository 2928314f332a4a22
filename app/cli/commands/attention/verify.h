// The options and the result of `verify`. Entries of golden manifests have them, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/ranks.h"
#include "app/session/options.h"
#include "maskctl/verify/verdict.h"

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

/// Runs `verify` and returns its findings. Throws like attention::verify() and verify_given().
attention::GivenReport verify_report(const VerifyOptions& options, Session& session);
/// The exit status that a verdict means.
int status_of(attention::Verdict verdict);

}  // namespace maskctl::app
