// How attend chooses configs: by --policy, --cache and ejkernel's environment variables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

/// Null when neither an option nor EJKERNEL_AUTOTUNE_POLICY requests configs; operations then run
/// at once. EJKERNEL_LOG_AUTOTUNE=1 prints the choice on stderr; EJKERNEL_OPS_STAMP (none, hash,
/// json) and EJKERNEL_OPS_PREFIX label calls there; EJKERNEL_OPS_RECORD=1 keeps the calls for
/// print_recorded. Throws Error(kInvalidArgument) naming the variable.
std::unique_ptr<attention::Runtime> make_runtime(const ConfigChoice& choice,
                                                 const Session& session);

/// One line on stderr for each call that was kept.
void print_recorded(const attention::Runtime& runtime);

}  // namespace maskctl::app
