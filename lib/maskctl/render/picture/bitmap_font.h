// A font of 8 x 16 dots for pictures made of pixels.
#pragma once

#include "maskctl/base/index.h"

namespace maskctl {

inline constexpr Index kFontWidth = 8, kFontHeight = 16;
inline constexpr int kFullCoverage = 3;

/// How much of dot (row, column) an ASCII character covers, from 0 to kFullCoverage. Characters
/// that are not printable ASCII look like '?'.
int font_coverage(char character, Index row, Index column);

}  // namespace maskctl
