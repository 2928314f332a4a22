// Commands that read the config.json of a model.
#pragma once

#include <string>

#include "app/cli/parser/option_list.h"

namespace maskctl::app {

/// The config.json of a model, and what to assume if its type is unknown.
struct ModelConfigOptions {
  std::string file;
  bool assume_causal = false;
};

void declare_config(OptionList& list, ModelConfigOptions& config, const std::string& help);

}  // namespace maskctl::app
