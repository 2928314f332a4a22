// The layers that a class of transformers makes of a config; private to the layer.
#pragma once

#include "maskctl/translate/models/config_values.h"
#include "maskctl/translate/models/hf_config.h"
#include "maskctl/translate/models/hf_models.h"

namespace maskctl {

/// Adds the layers of a config of a known model type, and notes on what decided them. Refuses what
/// is no such config.
void read_config_layers(const Json& config, const HfModel& model, HfConfig& out);

}  // namespace maskctl
