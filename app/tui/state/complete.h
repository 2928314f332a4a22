// Completes text that the user types: steps and their arguments, search targets, commands, files.
#pragma once

#include <string>
#include <vector>

#include "app/tui/state/state.h"

namespace maskctl::app::tui {

struct Completion {
  Line line;                            // the line, extended by the common prefix of all candidates
  std::vector<std::string> candidates;  // what the word before the cursor may become
};
Completion completion(Prompt prompt, const Line& line);

}  // namespace maskctl::app::tui
