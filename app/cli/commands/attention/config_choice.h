// How attend chooses configs: by --policy, --cache and ejkernel's environment variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/cli/parser/option_list.h"

namespace maskctl::app {

/// The names of attention::CacheMiss, in order.
inline constexpr std::string_view kPolicies[] = {"autotune", "heuristics"};

struct ConfigChoice {
  std::optional<std::size_t> policy;  // of kPolicies; absent: no configs
  std::string cache;                  // folder of tuned configs; empty: none
};

/// --policy, --cache and the variables.
void declare_config_choice(OptionList& list, ConfigChoice& choice);

}  // namespace maskctl::app
