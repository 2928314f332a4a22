// maskctl ops: lists the steps of pipelines, or explains one.
#include "maskctl/pipeline/ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/report.h"
#include "maskctl/base/error.h"
#include "maskctl/pipeline/diagnostic.h"

namespace maskctl::app {
namespace {

std::string_view heading(OpKind kind) {
  switch (kind) {
    case OpKind::kAnd:
      return "close cells (keep only what the step names)";
    case OpKind::kOr:
      return "open cells (what the step names is added)";
    case OpKind::kOwn:
      return "have a rule of their own";
  }
  return "";
}

std::string listing() {
  std::size_t width = 0;
  for (const OpInfo& op : maskctl::ops()) width = std::max(width, op.name.size());
  std::string out = "Steps of -t, applied left to right. `maskctl ops NAME` explains one.\n";
  for (const OpKind kind : {OpKind::kAnd, OpKind::kOr, OpKind::kOwn}) {
    out += fmt::format("\nSteps that {}:\n", heading(kind));
    for (const OpInfo& op : maskctl::ops()) {
      if (op.kind == kind) out += fmt::format("  {:<{}}  {}\n", op.name, width, op.meaning);
    }
  }
  return out;
}

const OpInfo& known(const std::string& name) {
  if (const OpInfo* op = find_op(name)) return *op;
  std::vector<std::string_view> names;
  for (const OpInfo& op : maskctl::ops()) names.push_back(op.name);
  const auto near = nearest(name, names);
  throw Error(Errc::kInvalidArgument, fmt::format("ops: unknown step '{}'; {}", shown(name),
                                                  near ? fmt::format("did you mean '{}'?", *near)
                                                       : "`maskctl ops` lists all steps"));
}

}  // namespace

void ops(const OpsOptions& options) {
  std::vector<const OpInfo*> chosen;
  if (!options.name.empty()) {
    chosen.push_back(&known(options.name));
  } else {
    for (const OpInfo& op : maskctl::ops()) chosen.push_back(&op);
  }
  if (options.json) {
    write_stdout(ops_json(chosen));
  } else {
    write_stdout(options.name.empty() ? listing() : describe(*chosen.front()));
  }
}

}  // namespace maskctl::app
