// The weights of the query under the cursor, along the keys that are drawn.
#pragma once

#include "app/tui/geometry.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// A line for each head, below the mask; a character has the sum of its keys, in relation to the
/// largest sum of the line.
void draw_weights(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas);

}  // namespace maskctl::app::tui
