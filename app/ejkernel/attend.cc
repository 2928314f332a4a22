// Runs calls with ejkernel's kernel configs, and translates its names of backends.
#include <fmt/format.h>

#include "app/cli/commands/ejkernel.h"
#include "app/cli/environment.h"
#include "app/cli/parser/values.h"
#include "app/cli/streams.h"
#include "maskctl/attention/calls/operation.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/config_text.h"
#include "maskctl/ejkernel/runtime/registry.h"
#include "maskctl/ejkernel/runtime/runtime.h"

namespace maskctl::app::ejkernel {
namespace {

using namespace attention;

bool is_set(const char* variable) { return environment(variable) == std::string_view("1"); }

std::optional<CacheMiss> wanted_policy(const ConfigChoice& choice) {
  if (choice.policy) return static_cast<CacheMiss>(*choice.policy);
  const std::string_view text = environment("EJKERNEL_AUTOTUNE_POLICY");
  if (text.empty()) return std::nullopt;
  return static_cast<CacheMiss>(parse_choice(text, "EJKERNEL_AUTOTUNE_POLICY", kPolicies));
}

ExecutorOptions executor_options() {
  ExecutorOptions out;
  out.record = is_set("EJKERNEL_OPS_RECORD");
  static constexpr std::string_view kStamps[] = {"none", "hash", "json"};
  if (const std::string_view stamp = environment("EJKERNEL_OPS_STAMP"); !stamp.empty()) {
    out.stamp = static_cast<Stamp>(parse_choice(stamp, "EJKERNEL_OPS_STAMP", kStamps));
  }
  if (const std::string_view prefix = environment("EJKERNEL_OPS_PREFIX"); !prefix.empty()) {
    out.stamp_prefix = prefix;
  }
  out.on_stamp = [](const std::string& label) { write_stderr(label + "\n"); };
  return out;
}

}  // namespace

Backend backend_of_platform(std::string_view name) {
  const auto platform = platform_from_name(name);
  if (platform) return backend_of(*platform);
  throw Error(Errc::kInvalidArgument, fmt::format("platform: '{}' is not auto, xla or cuda", name));
}

std::unique_ptr<CallRunner> configured_runner(const ConfigChoice& choice, const Session& session) {
  const std::optional<CacheMiss> policy = wanted_policy(choice);
  if (!policy && choice.cache.empty()) return nullptr;
  RuntimeOptions out;
  out.cache_miss = policy.value_or(CacheMiss::kAutotune);
  if (!choice.cache.empty()) out.cache_folder = choice.cache;
  const bool log = is_set("EJKERNEL_LOG_AUTOTUNE");
  out.on_event = [log, &session](const SelectionEvent& event) {
    if (event.name == "note") return session.note(event.message);
    if (log) write_stderr(to_text(event) + "\n");
  };
  out.executor = executor_options();
  return std::make_unique<Runtime>(std::move(out));
}

void print_recorded(const CallRunner& runner) {
  for (const RecordedCall& call : static_cast<const Runtime&>(runner).recorded()) {
    write_stderr(fmt::format("recorded {} {}: {}\n", call.key.operation, call.key.call,
                             to_text(call.config)));
  }
}

std::vector<BackendLine> backend_lines(std::string_view operation) {
  std::vector<BackendLine> out;
  const Operation& row = *find_operation(operation);
  const Platform platform = row.on_gpu ? Platform::kAuto : Platform::kXla;
  for (const BackendChoice& choice : explain_backends(platform)) {
    const std::string missing = unavailable(row, choice.backend);
    BackendLine line;
    line.operation = operation;
    line.platform = name(choice.platform);
    line.device = name(choice.device);
    line.implementation = missing.empty() ? name(choice.backend) : "-";
    line.chosen = choice.chosen;
    line.reason = missing.empty() ? choice.reason : missing;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace maskctl::app::ejkernel
