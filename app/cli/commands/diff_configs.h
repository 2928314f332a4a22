// `diff` of two config.json files: in which layers do their models have other masks?
#pragma once

#include <string>

#include "app/cli/commands/command.h"

namespace maskctl::app {

/// Whether a SOURCE is a config: a file that ends in .json, or a folder with a config.json.
bool is_config(const std::string& source);
/// Exit status 1 if a layer has another mask in B than in A.
Answer diff_configs(const std::string& a, const std::string& b, bool json);

}  // namespace maskctl::app
