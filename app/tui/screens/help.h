// The help text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app::tui {

/// The help, as the inspector and `maskctl tui --keys` show it, in lines of at most `width`
/// characters. Only rows with the text of the filter.
std::vector<std::string> help_lines(Index width, std::string_view filter = "");

}  // namespace maskctl::app::tui
