// What the terminal and the environment say: size, colour, UTF-8.
#pragma once

#include "app/cli/options.h"

namespace maskctl::app {

bool is_terminal(int fd);
/// COLUMNS when it is a number above 0, else the size of the terminal on stdout, else 80.
Index terminal_columns();
/// The height of the terminal on stdout; 0 when stdout is none.
Index terminal_rows();
/// Whether to colour stdout: `when`, else NO_COLOR, CLICOLOR_FORCE, TERM=dumb, in that order, else
/// whether it is a terminal.
bool use_color(When when);
/// Whether the locale shows UTF-8.
bool utf8_locale();
/// The variable, or "" when unset.
const char* environment(const char* name);

}  // namespace maskctl::app
