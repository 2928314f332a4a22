// Selects what the drawings on the screen show of a mask.
#pragma once

#include "app/tui/state/state.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

/// Returns the panel (what to draw) of the current batch and head for one of the SOURCEs, or for
/// both on top of each other. If two drawings are side by side, each panel marks the cells that are
/// open only in its SOURCE. Valid while the scene exists.
Panel panel_of(const State& state, Sources sources);
/// The smallest block of cells that can be drawn as a unit: one cell, or a tile if tiles are drawn.
BlockSize smallest_unit(const View& view);

}  // namespace maskctl::app::tui
