#include "app/cli/commands/attention/runtime.h"

#include <fmt/format.h>

#include "app/cli/environment.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/cli/streams.h"
#include "maskctl/attention/runtime/config_text.h"

namespace maskctl::app {
namespace {

using namespace attention;

bool is_set(const char* variable) { return environment(variable) == std::string_view("1"); }

std::optional<CacheMiss> wanted_policy(const ConfigChoice& choice) {
  if (choice.policy) return choice.policy;
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

void declare_config_choice(OptionList& list, ConfigChoice& choice) {
  list.choice("--policy", kPolicies,
              "choose a config first: by measuring, or the usual one (no config)",
              [&choice](std::size_t i) { choice.policy = static_cast<CacheMiss>(i); });
  list.text("--cache", "FOLDER", "keep tuned configs there", choice.cache);
  list.under(kEjkernel, [&] {
    list.variable("EJKERNEL_AUTOTUNE_POLICY", "as --policy");
    list.variable("EJKERNEL_LOG_AUTOTUNE", "1: print on stderr how a config was chosen");
    list.variable("EJKERNEL_OPS_RECORD", "1: print on stderr which calls had which config");
    list.variable("EJKERNEL_OPS_STAMP",
                  "hash or json: print on stderr a label of each call (none)");
    list.variable("EJKERNEL_OPS_PREFIX", "what such a label begins with (ejkernel_ops#)");
  });
}

std::unique_ptr<Runtime> make_runtime(const ConfigChoice& choice, const Session& session) {
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

void print_recorded(const Runtime& runtime) {
  for (const RecordedCall& call : runtime.recorded()) {
    write_stderr(fmt::format("recorded {} {}: {}\n", call.key.operation, call.key.call,
                             to_text(call.config)));
  }
}

}  // namespace maskctl::app
