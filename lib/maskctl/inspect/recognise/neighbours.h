// Masks that a kernel might apply by mistake instead of the intended one.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// `text` says how it differs: "window left 32 instead of 31", "without causal".
struct Neighbour {
  std::string text;
  Mask mask;
};

/// Variations of the steps that make up `mask`: each number moved by one, each step left out, the
/// other alignment, the other side of a window, documents joined to the next; and variations of the
/// mask as a whole: all open, inverted, transposed, shifted by a key, with causal added, heads or
/// batch entries in reverse. At most 48, none equal to `mask` or to an earlier one. Cells that no
/// step explains stay as they are in `mask`. A mask too large for recognise() (Error(kLimit)) gets
/// only the latter kind. Steps that are known to make the mask, from all open on, are varied as
/// they are; without them, or where they make another mask, those that recognise() finds.
std::vector<Neighbour> neighbours(const Mask& mask, const Chain* known = nullptr);

}  // namespace maskctl
