// Neighbourhoods in a grid that end at its borders; private to inspect.
#pragma once

#include <optional>
#include <string>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Tokens in rows of `width`, the last of which may be shorter: each sees those at most `down` rows
/// and `along` places away. At the borders it sees fewer, where the step `neighbourhood` moves the
/// window inwards.
struct ClippedGrid {
  Index width = 0, down = 0, along = 0;
};
/// The grid of a square plane; nothing for other planes, and for large ones.
std::optional<ClippedGrid> clipped_grid_of(const Plane& plane);
/// "neighbourhood of 5x5 in a grid with rows of 10 tokens".
std::string to_text(const ClippedGrid& grid);

}  // namespace maskctl::recognition
