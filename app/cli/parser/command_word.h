// Finds the command among the words of a line.
#pragma once

#include <string>
#include <vector>

#include "app/cli/commands/command.h"

namespace maskctl::app {

/// Removes the command from the words, wherever it stands, and returns it; null if there is none.
/// Options of a command may stand in front of its name, but for those with a value apart.
const Command* take_command(std::vector<std::string>& words);

}  // namespace maskctl::app
