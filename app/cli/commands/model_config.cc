#include "app/cli/commands/model_config.h"

#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "maskctl/base/error.h"

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

void check_config(const ModelConfigOptions& config) {
  if (!config.assume_causal || !config.file.empty()) return;
  throw Error(Errc::kInvalidArgument,
              "--assume says what to assume of a model: give its --hf-config FILE");
}

}  // namespace maskctl::app
