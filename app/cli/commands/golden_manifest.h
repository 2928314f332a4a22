// Makes the text of the manifest that `golden init` writes; digests are filled in later.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/session/options.h"

namespace maskctl::app {

/// The absolute path of the manifest's folder. SOURCEs in the manifest are relative to it.
std::filesystem::path folder_of(const std::string& manifest);

/// Converts a SOURCE that is relative to the current folder to one relative to `folder`:
/// "../masks/a.npz:mask".
std::string seen_from(const std::filesystem::path& folder, const std::string& source);

/// A manifest with an entry for each SOURCE. The name of an entry is the SOURCE, and options become
/// keys. Throws Error(kInvalidArgument) for standard input, which cannot be read again, and
/// PipelineError.
std::string manifest_text(const std::string& manifest, const std::vector<std::string>& sources,
                          const SourceOptions& how);

}  // namespace maskctl::app
