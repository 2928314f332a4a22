// What the terminal and the environment say: size, colour, UTF-8.
#pragma once

#include "app/session/session.h"
#include "maskctl/render/text/draw.h"

namespace maskctl::app {

bool is_terminal(int fd);
/// How to draw on stdout in that style. UTF-8 is decided by the locale. Colour is decided by
/// `color`; for kAuto by NO_COLOR, CLICOLOR_FORCE, TERM=dumb, in that order, then by whether stdout
/// is a terminal. Columns are COLUMNS if that is a number above 0, else the terminal's, else 80.
/// Rows are the terminal's, else 48.
DrawOptions stdout_drawing(Style style, When color);
}  // namespace maskctl::app
