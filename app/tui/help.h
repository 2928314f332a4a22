// The help overlay.
#pragma once

#include "app/tui/state.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

Index help_pages(const State& state);
void draw_help(const State& state, Canvas& canvas);

}  // namespace maskctl::app::tui
