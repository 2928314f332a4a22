#include "app/cli/commands/model_config.h"

#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"

namespace maskctl::app {

void declare_config(OptionList& list, ModelConfigOptions& config, const std::string& help) {
  list.text("--hf-config", "FILE", help, config.file);
  list.value("--assume", "causal", "what to assume for an unknown model type",
             [&config](const std::string& text) {
               static constexpr std::string_view kWords[] = {"causal"};
               parse_choice(text, "--assume", kWords);
               config.assume_causal = true;
             });
}

}  // namespace maskctl::app
