// The options and the result of `verify`, which golden files and Python ask too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/ranks.h"
#include "app/cli/commands/command.h"
#include "app/reports/verify_report.h"
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

/// Declares the operand SOURCE, NAME=VALUE and all options.
void declare_verify(OptionList& list, VerifyOptions& options);

struct Verified {
  std::optional<VerifyReport> report;  // absent at ranks but the first, which have no answer
  Answer answer;
};
/// Does what `verify` does. Throws like attention::verify(), judge_fully() and solve_fully().
Verified verified(const VerifyOptions& options, Session& session);
/// The exit status that a verdict means: 0 if the results obey the mask, 2 if that is undecided.
int status_of(attention::Verdict verdict);

}  // namespace maskctl::app
