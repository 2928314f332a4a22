// What goes to stdout and stderr.
#pragma once

#include <string_view>

namespace maskctl::app {

/// Writes all of `text` and closes stdout, checking every error; call it once, as the last thing.
/// Throws Error(kIo): "cannot write standard output: No space left on device".
void write_stdout(std::string_view text);
void write_stderr(std::string_view text) noexcept;
/// "maskctl: error: ..." on stderr.
void print_error(std::string_view message);

}  // namespace maskctl::app
