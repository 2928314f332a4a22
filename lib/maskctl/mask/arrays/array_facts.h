// What was noticed in arrays of keys while their mask was read: it does not change which cells are
// open, but kernels may do something else with such arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "maskctl/mask/cell.h"

namespace maskctl {

enum class ArrayFact : std::uint8_t {
  kListRepeats,    // a list has a key, or a block of keys, twice
  kListGaps,       // a key stands after -1, which ends a list
  kListOrder,      // the keys of a list do not ascend
  kSlicesOverlap,  // a cell is in more than one slice
  kCount,          // how many there are
};

/// `count`: the number of such lists; of slices, of how many cells all of them together have more
/// than are open. `first`: the first query of the first such list, and the first key that shows it;
/// the first cell that is in two slices.
struct FactSeen {
  ArrayFact fact;
  Index count = 0;
  Cell first;
};
using ArrayFacts = std::vector<FactSeen>;

/// Says what was seen: "2 lists have a key twice". The place is `first`.
std::string to_text(const FactSeen& seen);

}  // namespace maskctl
