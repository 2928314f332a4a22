// Draws the attention weights of the cursor's query, aligned with the keys of the drawing.
#pragma once

#include "app/tui/state/geometry.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// Draws a line for each head below the mask. A character shows the sum of the weights of its keys,
/// relative to the largest sum in the line.
void draw_weights(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas);

}  // namespace maskctl::app::tui
