// Finds keys of a config.json that change no layer; private to the layer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/translate/models/hf_config.h"

namespace maskctl {

/// read_hf_config() without the notes on keys that have no effect.
HfConfig read_layers(std::string_view json, const HfConfigOptions& options);
/// Notes for keys of windows and chunks that change no layer, whatever their value. `as_given` is
/// what read_layers() reads.
std::vector<std::string> keys_without_effect(std::string_view json, const HfConfigOptions& options,
                                             const HfConfig& as_given);

}  // namespace maskctl
