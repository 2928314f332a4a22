// The help.
#pragma once

#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app::tui {

/// What the inspector and `maskctl tui --keys` show, in lines of at most `width` characters.
std::vector<std::string> help_lines(Index width);

}  // namespace maskctl::app::tui
