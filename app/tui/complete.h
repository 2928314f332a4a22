// Completion of what is typed: steps, their arguments, targets, commands, files.
#pragma once

#include <string>
#include <vector>

#include "app/tui/state.h"

namespace maskctl::app::tui {

struct Completion {
  Line line;                            // with what all candidates begin with
  std::vector<std::string> candidates;  // for the word before the caret
};
Completion completion(Prompt prompt, const Line& line);

}  // namespace maskctl::app::tui
