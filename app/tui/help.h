// The help overlay.
#pragma once

#include <string>
#include <vector>

#include "app/tui/state.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// What the overlay and `maskctl tui --keys` show, in lines of at most `width` characters.
std::vector<std::string> help_lines(Index width);

Index help_pages(const State& state);
void draw_help(const State& state, Canvas& canvas);

}  // namespace maskctl::app::tui
