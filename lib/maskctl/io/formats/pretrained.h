// Folders that save_pretrained writes: config.json and model.safetensors.
#pragma once

#include <string>

namespace maskctl {

/// The file of this name if `path` is a folder, else the path itself. Throws
/// Error(kInvalidArgument) for a folder without the file, saying what it has instead.
std::string in_pretrained(const std::string& path, const std::string& file);

}  // namespace maskctl
