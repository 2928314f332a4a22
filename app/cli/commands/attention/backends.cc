// maskctl backends: lists the kernels of each operation in this build, and says which one a call
// gets and why the others are not chosen.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <thread>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/machine.h"
#include "app/cli/commands/command.h"
#include "app/cli/commands/ejkernel.h"
#include "app/reports/attention_json.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/base/threads.h"

namespace maskctl::app {
namespace {

struct BackendsOptions {
  std::string operation;
  bool json = false;
};

void declare(OptionList& list, BackendsOptions& backends) {
  list.operand("OPERATION", backends.operation, false);
  list.json("maskctl.backends/1", backends.json);
}

std::string backends_text(const MachineReport& machine, const std::string& tensor_cores,
                          const std::vector<BackendLine>& lines) {
  std::string out = fmt::format("{:<14}{}\n{:<14}{}\n", "instructions", machine.instructions,
                                "threads", machine.threads);
  if (!tensor_cores.empty()) out += fmt::format("{:<14}{}\n", "tensor cores", tensor_cores);
  out += '\n';
  std::string_view last;
  for (const BackendLine& line : lines) {
    if (line.operation != last) out += line.operation + "\n";
    last = line.operation;
    out += fmt::format("  {} {:<8}{:<6}{:<11}{}\n", line.chosen ? '*' : ' ', line.platform,
                       line.device, line.implementation, line.reason);
  }
  return out;
}

Answer run(const BackendsOptions& options, Session&) {
  std::set<std::string_view> operations;
  if (options.operation.empty()) {
    for (const attention::Operation* row : attention::operations()) operations.insert(row->alias);
  } else {
    operations.insert(operation_named(options.operation).alias);
  }
  std::vector<BackendLine> lines;
  for (const std::string_view operation : operations) {
    std::ranges::move(ejkernel::backend_lines(operation), std::back_inserter(lines));
  }
  const MachineReport machine = machine_report();
  const std::string tensor_cores = attention::cuda::tensor_cores();
  return answer_in(
      options.json, [&] { return backends_text(machine, tensor_cores, lines); },
      [=] { return backends_json(machine, tensor_cores, lines); });
}

}  // namespace

MachineReport machine_report() {
  const int limit = threads();
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return {attention::cpu_target(), limit > 0 ? limit : cores};
}

extern const Command kBackends = command<BackendsOptions, declare, run>({
    .name = "backends",
    .group = kJudge,
    .operands = "[OPERATION]",
    .summary = "the kernels of each operation, and which one is used",
    .examples = "  maskctl backends\n"
                "  maskctl backends flash_attention --json\n",
});

}  // namespace maskctl::app
