// What is typed after ':': one table, of which the help is made too.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace maskctl::app::tui {

struct State;
class Workbench;

struct Command {
  std::string_view name;   // what is typed; empty: a number stands there
  std::string_view usage;  // with its arguments
  std::string_view help;
  /// `text` is what follows the name. Throws Error.
  void (*run)(State& state, Workbench& bench, const std::string& text) = nullptr;
};
std::span<const Command> commands();

/// Runs "b 2", "37,4" or "w mask.npy". Throws Error(kInvalidArgument) for what is no command, and
/// what commands throw.
void run_command(State& state, Workbench& bench, const std::string& line);

}  // namespace maskctl::app::tui
