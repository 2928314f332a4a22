// Names of layers in few words.
#pragma once

#include <span>
#include <string>

namespace maskctl::app {

/// "model.layers.0-2,4.self_attn" for four layers that differ in their first number. Other names
/// are joined by ", ".
std::string layers_text(std::span<const std::string> layers);

}  // namespace maskctl::app
