// Replaces attend.cc in a build without ejkernel's runtime. What needs it is refused with a message
// that names the build option.
#include <fmt/format.h>

#include "app/cli/commands/ejkernel.h"
#include "app/cli/environment.h"
#include "app/session/ejkernel.h"
#include "maskctl/attention/calls/operation.h"
#include "maskctl/base/error.h"

namespace maskctl::app::ejkernel {

namespace {

[[noreturn]] void refuse_runtime(std::string_view asked) {
  require(asked);
  throw Error(Errc::kUnsupported,
              fmt::format("{}: this maskctl was built without ejkernel's configs; build it with "
                          "-DMASKCTL_EJKERNEL_RUNTIME=ON",
                          asked));
}

}  // namespace

attention::Backend backend_of_platform(std::string_view name) {
  refuse_runtime(fmt::format("platform={}", name));
}

std::unique_ptr<attention::CallRunner> configured_runner(const ConfigChoice& choice,
                                                         const Session&) {
  if (choice.policy) refuse_runtime("--policy");
  if (!choice.cache.empty()) refuse_runtime("--cache");
  if (*environment("EJKERNEL_AUTOTUNE_POLICY") != '\0') refuse_runtime("EJKERNEL_AUTOTUNE_POLICY");
  return nullptr;
}

void print_recorded(const attention::CallRunner&) {}

/// Returns the rows that the command `backends` prints, without ejkernel's names for platforms and
/// devices.
std::vector<BackendLine> backend_lines(std::string_view operation) {
  std::vector<BackendLine> out;
  for (const std::string_view name : attention::backend_names()) {
    const attention::Backend backend = *attention::backend_from_name(name);
    BackendLine line;
    line.operation = operation;
    line.platform = line.device = "-";
    line.reason = attention::unavailable(*attention::find_operation(operation), backend);
    line.implementation = line.reason.empty() ? name : "-";
    line.chosen = backend == attention::Context().backend;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace maskctl::app::ejkernel
