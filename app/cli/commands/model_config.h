// The options of commands that read a model's config.json.
#pragma once

#include <string>

#include "app/cli/parser/option_list.h"

namespace maskctl::app {

/// A model's config.json, and what to assume if its model type is unknown.
struct ModelConfigOptions {
  std::string file;
  bool assume_causal = false;
};

void declare_config(OptionList& list, ModelConfigOptions& config, const std::string& help);

/// Throws Error(kInvalidArgument) for --assume without the config that it is about.
void check_config(const ModelConfigOptions& config);

}  // namespace maskctl::app
