// Masks that a kernel might apply by mistake instead of the intended one.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// `text` says how `mask` differs from the intended one: "window left 32 instead of 31", "without
/// causal".
struct Neighbour {
  std::string text;
  Mask mask;
};

/// Variations of the steps that make up `mask`: each number moved by one, each step left out, the
/// other alignment, the other side of a window, neighbouring documents joined. Also variations of
/// the mask as a whole: all open, inverted, transposed, shifted by a key, with causal added, heads
/// or batch entries in reverse. At most 48, none equal to `mask` or to an earlier one. Cells that
/// no step explains stay as they are in `mask`. If the steps `known`, applied to an all-open mask,
/// give `mask`, these are varied, otherwise those that recognise() finds. If the mask is too large
/// for recognise() (Error(kLimit)), only the mask as a whole is varied.
std::vector<Neighbour> neighbours(const Mask& mask, const Chain* known = nullptr);

/// Rarer mistakes, for a mask that none of neighbours() is: numbers that a step lost (the rare
/// edits of edits.h), documents of one query without the chain inside documents, one batch entry's
/// or head's mask in all of them. At most 48, none equal to `mask` or to one of `tried`.
std::vector<Neighbour> rare_neighbours(const Mask& mask, const Chain* known,
                                       const std::vector<Neighbour>& tried);

}  // namespace maskctl
