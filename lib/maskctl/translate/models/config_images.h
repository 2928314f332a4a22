// What a model with images does with their tokens; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace maskctl {

/// One line: in which layers tokens of images see each other, by the class of the model type in
/// transformers 5.23. `bidirectional` is use_bidirectional_attention of the text part, nothing
/// where the key is missing.
std::string image_note(std::string_view type, const std::optional<std::string>& bidirectional);

}  // namespace maskctl
