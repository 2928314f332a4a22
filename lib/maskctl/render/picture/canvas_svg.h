// A screen of characters as SVG.
#pragma once

#include <string>

#include "maskctl/render/text/canvas.h"

namespace maskctl {

/// The screen of a dark terminal, 8 x 16 pixels a character. Blocks and shades are rectangles, so
/// that they meet in every font.
std::string svg_of(const Canvas& canvas);

}  // namespace maskctl
