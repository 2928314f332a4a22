#include "app/cli/commands/attention/config_choice.h"

#include "app/cli/parser/groups.h"

namespace maskctl::app {

void declare_config_choice(OptionList& list, ConfigChoice& choice) {
  list.choice("--policy", kPolicies,
              "choose a config first: by measuring, or the usual one (no config)",
              [&choice](std::size_t i) { choice.policy = i; });
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

}  // namespace maskctl::app
