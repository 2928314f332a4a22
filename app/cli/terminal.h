// The properties of the terminal: size, colour, UTF-8.
#pragma once

#include "app/session/session.h"
#include "maskctl/render/text/draw.h"

namespace maskctl::app {

bool is_terminal(int fd);
/// True if drawings on stdout have colours. For kAuto, the first of NO_COLOR, CLICOLOR_FORCE and
/// TERM=dumb that is set decides, else whether stdout is a terminal.
bool use_color(When when);
/// The options for drawing on stdout. The locale decides about UTF-8, and use_color() about colour.
/// The width is COLUMNS if that is above 0, else that of the terminal, else 80; the height is that
/// of the terminal, else 48.
DrawOptions stdout_drawing(Style style, When color);
}  // namespace maskctl::app
