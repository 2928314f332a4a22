// Options of the command as the keywords that methods of the module take.
#pragma once

#include <string>
#include <string_view>

namespace maskctl::app {

/// A message with each option as its keyword: "--as padding or --max-bytes" as
/// `kind="padding" or max_bytes=`.
std::string in_keywords(std::string_view text);

}  // namespace maskctl::app
