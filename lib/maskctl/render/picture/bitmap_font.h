// A font of 5 x 8 dots for pictures made of pixels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "maskctl/base/index.h"

namespace maskctl {

inline constexpr Index kFontWidth = 5, kFontHeight = 8;  // the last row is below the baseline
inline constexpr Index kFontAdvance = 6;                 // from one character to the next

/// Dot (row, column) of an ASCII character; other characters look like '?'.
bool font_dot(char character, Index row, Index column);

/// One ASCII character per character of a UTF-8 text; '?' for those that the font lacks.
std::string font_text(std::string_view utf8);

}  // namespace maskctl
