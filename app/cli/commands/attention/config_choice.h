// How attend chooses kernel configs: --policy, --cache and environment variables of ejkernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/cli/parser/option_list.h"

namespace maskctl::app {

/// The names of the values of attention::CacheMiss, in the same order.
inline constexpr std::string_view kPolicies[] = {"autotune", "heuristics"};

struct ConfigChoice {
  std::optional<std::size_t> policy;  // index in kPolicies; absent: no configs
  std::string cache;                  // folder with tuned configs; empty: none
};

/// Declares --policy, --cache and the environment variables.
void declare_config_choice(OptionList& list, ConfigChoice& choice);

}  // namespace maskctl::app
