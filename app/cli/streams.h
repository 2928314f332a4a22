// Writes to stdout and stderr.
#pragma once

#include <string_view>

namespace maskctl::app {

/// Writes all of `text` to stdout and closes it. Call it once, as the last output. Whatever could
/// control a terminal is escaped, as by printable_lines(); `colours` keeps those of drawings.
/// Throws Error(kIo), for example "cannot write standard output: No space left on device".
void write_stdout(std::string_view text, bool colours = false);
/// Writes to stderr, escaped like stdout.
void write_stderr(std::string_view text);
/// Writes to stderr what moves the cursor of a terminal on purpose.
void control_terminal(std::string_view sequence) noexcept;
/// Prints "maskctl: error: " and the message on stderr.
void print_error(std::string_view message);

}  // namespace maskctl::app
