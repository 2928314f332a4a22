// Screens for terminals of eight colours.
#pragma once

#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// The row and column of the cursor, dim text and mistakes, as colours of terminals that have 256.
inline constexpr std::int16_t kCrosshair = 238, kDim = 245, kMistake = 160, kWhite = 231;

/// Signs alone tell densities apart; marks, segments and the cursor keep a colour near their own.
void to_eight_colors(Canvas& canvas);

}  // namespace maskctl::app::tui
