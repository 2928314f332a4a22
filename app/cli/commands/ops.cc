// maskctl ops: lists all steps of pipelines, or explains one.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/command.h"
#include "app/reports/report.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl::app {
namespace {

struct OpsOptions {
  std::string name;
  bool json = false;
};

void declare(OptionList& list, OpsOptions& ops) {
  list.operand("NAME", ops.name, false);
  list.json("maskctl.ops/1", ops.json);
}

std::string_view heading(StepKind kind) {
  switch (kind) {
    case StepKind::kAnd:
      return "close cells (keep only what the step names)";
    case StepKind::kOr:
      return "open cells (what the step names is added)";
    case StepKind::kOwn:
      return "have a rule of their own";
  }
  return "";
}

std::string listing() {
  std::size_t width = 0;
  for (const StepInfo& info : maskctl::step_infos()) width = std::max(width, info.name.size());
  std::string out = "Steps of -t, applied left to right. `maskctl ops NAME` explains one.\n";
  for (const StepKind kind : {StepKind::kAnd, StepKind::kOr, StepKind::kOwn}) {
    out += fmt::format("\nSteps that {}:\n", heading(kind));
    for (const StepInfo& info : maskctl::step_infos()) {
      if (info.kind == kind) out += fmt::format("  {:<{}}  {}\n", info.name, width, info.meaning);
    }
  }
  out += "\nMade by gen: only (`maskctl gen`), as every step with a size:\n";
  for (const StepInfo& info : generators()) {
    out += fmt::format("  {:<{}}  {}\n", info.name, width, info.meaning);
  }
  return out;
}

const StepInfo& known(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto table : {step_infos(), generators()}) {
    for (const StepInfo& info : table) {
      if (info.name == name) return info;
      names.push_back(info.name);
    }
  }
  if (const StepInfo* info = step_called(name)) return *info;
  const auto near = nearest(name, names);
  throw Error(Errc::kInvalidArgument, fmt::format("ops: unknown step '{}'; {}", printable(name),
                                                  near ? fmt::format("did you mean '{}'?", *near)
                                                       : "`maskctl ops` lists all steps"));
}

Answer run(const OpsOptions& options, Session&) {
  std::vector<const StepInfo*> chosen;
  if (!options.name.empty()) {
    chosen.push_back(&known(options.name));
  } else {
    for (const StepInfo& info : maskctl::step_infos()) chosen.push_back(&info);
  }
  return answer_in(
      options.json, [&] { return options.name.empty() ? listing() : describe(*chosen.front()); },
      [=] { return ops_json(chosen); });
}

}  // namespace

extern const Command kOps = command<OpsOptions, declare, run>({
    .name = "ops",
    .group = kAsk,
    .operands = "[NAME]",
    .summary = "list the steps of pipelines, or explain one",
    .examples = "  maskctl ops\n"
                "  maskctl ops window\n",
});

}  // namespace maskctl::app
