// Runs commands that users give, by the shell; private to the commands that ask them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace maskctl::app {

/// The command with a path, quoted for the shell, in every place of it, such as "{}".
std::string with_path(std::string command, std::string_view place, const std::string& path);

struct ProgramEnd {
  int status = 0;          // the exit status; -1 where a signal or the limit ended the command
  bool timed_out = false;  // whether it was the limit
  /// "exit status 3: out of memory": the last line that the command printed; or "ran longer than
  /// 600 s".
  std::string text;
};

/// Runs a command and waits for its end; its standard input is empty, and `log` is a file for what
/// it prints. A stop request and `limit` end all of it, with its children. Throws Error(kIo) if the
/// shell cannot be started, Error(kCancelled).
ProgramEnd run_program(const std::string& command, const std::string& log,
                       std::optional<std::chrono::seconds> limit = {});

}  // namespace maskctl::app
