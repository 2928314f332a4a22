// A font of 5 x 8 dots for pictures made of pixels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "maskctl/base/index.h"

namespace maskctl {

inline constexpr Index kFontWidth = 5, kFontHeight = 8;  // the last row is below the base line
inline constexpr Index kFontAdvance = 6;                 // from one character to the next

/// Dot (row, column) of an ASCII character; others look like '?'.
bool font_dot(char character, Index row, Index column);

/// One ASCII character for each of a text in UTF-8; what the font lacks becomes '?'.
std::string font_text(std::string_view utf8);

}  // namespace maskctl
