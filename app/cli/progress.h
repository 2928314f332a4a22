// Shows the progress of long work in a line on stderr.
#pragma once

#include <string>

#include "app/session/session.h"

namespace maskctl::app {

/// Draws the line after half a second, then at most ten times a second, and erases it at the end.
/// Returns an empty function if stderr is not a terminal that can erase a line, or if CI is set.
Progress progress_line(std::string label);

}  // namespace maskctl::app
