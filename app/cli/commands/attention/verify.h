// What `verify` finds, for golden entries too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/ranks.h"
#include "app/session/options.h"
#include "maskctl/attention/verify/judge.h"

namespace maskctl::app {

struct VerifyOptions {
  CallOptions call;
  std::string operation = "flash_attention";
  attention::Backend backend = attention::Backend::kCpu;
  attention::Backend against = attention::Backend::kReference;
  std::vector<std::string> given;  // [NAME=]SOURCE: results to judge
  std::optional<double> relative, absolute;
  bool no_gradients = false;
  bool solve = false;    // the mask from the arrays, whatever it is
  OutputOptions output;  // of the mask that the results obey
  RankOptions ranks;
  bool json = false;
};

/// Throws as judge_backend() and judge_given() do.
attention::GivenReport verify_report(const VerifyOptions& options, Session& session);
/// "obeys another mask: window left 32 instead of 31 (heads 0-3, queries 32-63)".
std::string verdict_text(const attention::Judgement& judgement);

}  // namespace maskctl::app
