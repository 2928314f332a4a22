// How attend chooses configs: by --policy, --cache and ejkernel's environment variables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/cli/parser/option_list.h"
#include "app/session/session.h"
#include "maskctl/attention/runtime/runtime.h"
#include "maskctl/attention/runtime/selector.h"

namespace maskctl::app {

/// The names of attention::CacheMiss, in order.
inline constexpr std::string_view kPolicies[] = {"autotune", "heuristics"};

struct ConfigChoice {
  std::optional<attention::CacheMiss> policy;  // absent: no configs
  std::string cache;                           // folder of tuned configs; empty: none
};

/// --policy, --cache and the variables.
void declare_config_choice(OptionList& list, ConfigChoice& choice);

/// Null when neither an option nor EJKERNEL_AUTOTUNE_POLICY requests configs; operations then run
/// at once. Throws Error(kInvalidArgument) naming the variable.
std::unique_ptr<attention::Runtime> make_runtime(const ConfigChoice& choice,
                                                 const Session& session);

/// One line on stderr for each call that was kept.
void print_recorded(const attention::Runtime& runtime);

}  // namespace maskctl::app
