// The help text.
#pragma once

#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app::tui {

/// The help, as the inspector and `maskctl tui --keys` show it, in lines of at most `width`
/// characters.
std::vector<std::string> help_lines(Index width);

}  // namespace maskctl::app::tui
