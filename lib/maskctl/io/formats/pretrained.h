// Folders that save_pretrained writes, with config.json and model.safetensors.
#pragma once

#include <string>

namespace maskctl {

/// If `path` is a folder, the file of this name in it; else `path` itself. Throws
/// Error(kInvalidArgument) for a folder without the file; the message says what the folder has
/// instead.
std::string in_pretrained(const std::string& path, const std::string& file);

}  // namespace maskctl
