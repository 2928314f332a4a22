// check --expressible: whether calls of libraries can express the masks of layers.
#pragma once

#include <string>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/cli/commands/model_config.h"
#include "app/session/loader.h"

namespace maskctl::app {

/// Says for each layer of the config, or for each SOURCE, which of the libraries ("fa+te") can
/// express its mask; the status is 1 if one cannot express one. A SOURCE is known by the steps that
/// recognise finds.
Answer expressible(const std::string& libraries, const ModelConfigOptions& config,
                   const std::vector<std::string>& sources, const SourceOptions& how,
                   Session& session);

}  // namespace maskctl::app
