// Converts screens for terminals with eight colours.
#pragma once

#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// Numbers of the 256-colour palette: the cursor's row and column, the selection, dim text,
/// mistakes, and white.
inline constexpr std::int16_t kCrosshair = 238, kSelected = 24, kDim = 245, kMistake = 160,
                              kWhite = 231;

/// Converts all colours of a canvas to the nearest of eight. Colours no longer tell how many cells
/// of a unit are open; only the characters do.
void to_eight_colors(Canvas& canvas);

}  // namespace maskctl::app::tui
