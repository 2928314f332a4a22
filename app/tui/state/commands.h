// The commands after ':': one table, from which the help is generated, too.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace maskctl::app::tui {

struct State;
class Workbench;

struct Command {
  std::string_view name;   // what the user types; empty: a number
  std::string_view usage;  // name and arguments, for the help
  std::string_view help;
  /// Runs the command. `text` is what follows the name. Throws Error.
  void (*run)(State& state, Workbench& bench, const std::string& text) = nullptr;
};
std::span<const Command> commands();

/// Runs a line such as "b 2", "37,4" or "w mask.npy". Throws what the command throws, and
/// Error(kInvalidArgument) if there is no such command.
void run_command(State& state, Workbench& bench, const std::string& line);

}  // namespace maskctl::app::tui
