// Runs commands that users give, by the shell; private to the commands that ask them.
#pragma once

#include <string>
#include <string_view>

namespace maskctl::app {

/// The command with a path, quoted for the shell, in every place of it, such as "{}".
std::string with_path(std::string command, std::string_view place, const std::string& path);

struct ProgramEnd {
  int status = 0;    // the exit status; -1 where a signal ended the command
  std::string text;  // "exit status 3: out of memory": the last line that the command printed
};

/// Runs a command and waits for its end; `log` is a file for what it prints. A stop request ends
/// all of it. Throws Error(kIo) if it cannot be started, Error(kCancelled).
ProgramEnd run_program(const std::string& command, const std::string& log);

}  // namespace maskctl::app
