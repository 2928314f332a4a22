// The manifest that golden init writes, before digests are filled in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/session/options.h"

namespace maskctl::app {

/// The absolute folder of a manifest, to which its SOURCEs are relative.
std::filesystem::path folder_of(const std::string& manifest);

/// A SOURCE of the current folder as it is called from another: "../masks/a.npz:mask".
std::string seen_from(const std::filesystem::path& folder, const std::string& source);

/// One entry for each SOURCE, named as it was given, with the options as its keys. Throws
/// Error(kInvalidArgument) for standard input, which cannot be read again, and PipelineError.
std::string manifest_text(const std::string& manifest, const std::vector<std::string>& sources,
                          const SourceOptions& how);

}  // namespace maskctl::app
