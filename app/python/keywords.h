// Translates options of the command to the keywords of the Python module.
#pragma once

#include <string>
#include <string_view>

namespace maskctl::app {

/// Replaces the options in a message by keywords: "--as padding or --max-bytes" becomes
/// `kind="padding" or max_bytes=`.
std::string in_keywords(std::string_view text);

}  // namespace maskctl::app
