// Finds the name of the command on a command line.
#pragma once

#include <string>
#include <vector>

#include "app/cli/commands/command.h"

namespace maskctl::app {

/// Removes the name of the command from the words and returns the command; null if there is none.
/// Options may precede it, but only options of every command may have a separate value there.
const Command* take_command(std::vector<std::string>& words);

}  // namespace maskctl::app
