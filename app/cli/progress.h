// A line on stderr for work that takes a while.
#pragma once

#include <string>

#include "app/session/session.h"

namespace maskctl::app {

/// The line is first drawn after half a second, then at most ten times a second, and cleared at the
/// end. Empty if stderr is not a terminal that can clear a line, or CI is set.
Progress progress_line(std::string label);

}  // namespace maskctl::app
