// What the panes of the screen show of a mask.
#pragma once

#include "app/tui/state.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

/// One of the SOURCEs, or both, of the batch and head that are looked at. Side by side, what each
/// has alone is marked. Valid as long as the scene.
Panel panel_of(const State& state, Sources sources);
/// Cells of the smallest unit that can be drawn: one, or those of a tile.
BlockSize smallest_unit(const View& view);

}  // namespace maskctl::app::tui
