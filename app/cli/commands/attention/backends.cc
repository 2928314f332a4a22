// maskctl backends: which kernels this build has, which one a call gets, and why not the others.
#include <fmt/format.h>

#include <thread>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/machine.h"
#include "app/cli/commands/command.h"
#include "app/reports/attention_json.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/runtime/registry.h"
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

using attention::KernelChoice;

std::vector<BackendLine> lines_of(std::string_view algorithm) {
  std::vector<BackendLine> out;
  for (const KernelChoice& choice : attention::builtin_kernels().explain(algorithm)) {
    BackendLine line;
    line.operation = algorithm;
    line.platform = name(choice.spec.platform);
    line.device = name(choice.spec.device);
    const bool runs = choice.spec.unavailable().empty();
    line.implementation = runs ? std::string(name(choice.spec.implementation)) : "-";
    line.chosen = choice.chosen;
    line.reason = choice.reason;
    out.push_back(std::move(line));
  }
  return out;
}

std::string backends_text(const MachineReport& machine, const std::vector<BackendLine>& lines) {
  std::string out = fmt::format("{:<14}{}\n{:<14}{}\n\n", "instructions", machine.instructions,
                                "threads", machine.threads);
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
  std::vector<BackendLine> lines;
  for (const std::string& algorithm : attention::builtin_kernels().list_algorithms()) {
    const bool wanted = options.operation.empty() || algorithm == options.operation;
    if (!wanted) continue;
    const std::vector<BackendLine> more = lines_of(algorithm);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  if (lines.empty()) {  // given as the name of a function, or mistyped
    const attention::Operation& operation = operation_named(options.operation);
    lines = lines_of(operation.id);
  }
  const MachineReport machine = machine_report();
  return {options.json ? backends_json(machine, lines) : backends_text(machine, lines)};
}

}  // namespace

MachineReport machine_report() {
  const int limit = threads();
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return {attention::cpu_target(), limit > 0 ? limit : cores};
}

const Command kBackends = command<BackendsOptions, declare, run>({
    .name = "backends",
    .operands = "[OPERATION]",
    .summary = "the kernels of each operation, and which one is used",
    .examples = "  maskctl backends\n"
                "  maskctl backends flash_attention --json\n",
});

}  // namespace maskctl::app
