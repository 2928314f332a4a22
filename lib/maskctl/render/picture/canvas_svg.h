// A screen of characters as SVG.
#pragma once

#include <string>

#include "maskctl/render/text/canvas.h"

namespace maskctl {

/// The canvas as the screen of a dark terminal, 8 x 16 pixels per character. Block and shade
/// characters are drawn as rectangles, so that they join without gaps in every font.
std::string svg_of(const Canvas& canvas);

}  // namespace maskctl
