// Writes to stdout and stderr.
#pragma once

#include <string_view>

namespace maskctl::app {

/// Writes all of `text` to stdout and closes it. Call it once, as the last output. Throws
/// Error(kIo), for example "cannot write standard output: No space left on device".
void write_stdout(std::string_view text);
void write_stderr(std::string_view text) noexcept;
/// Prints "maskctl: error: " and the message on stderr.
void print_error(std::string_view message);

}  // namespace maskctl::app
