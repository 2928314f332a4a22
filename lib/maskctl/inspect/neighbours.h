// Masks that a kernel is easily made to apply instead of the one that was meant.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// `text` says how it differs: "window left 32 instead of 31", "without causal".
struct Neighbour {
  std::string text;
  Mask mask;
};

/// Each number of the steps that `mask` is made of moved by one, each step left out, the other
/// alignment, the other side of a window, documents joined to the next; and of the mask as a whole:
/// all open, inverted, transposed, shifted by a key, causal as well, heads or batch entries in
/// reverse. At most 48, none equal to `mask` or to one before it. Cells that no step explains stay
/// as they are in `mask`. A mask too large to be taken apart (Recognise's Error(kLimit)) has those
/// of the second kind only.
std::vector<Neighbour> neighbours(const Mask& mask);

}  // namespace maskctl
