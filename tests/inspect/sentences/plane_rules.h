// The steps that recognise() finds for a plane, as evidence that some exist: what they make is
// asked of plain cells.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "support/twin.h"

namespace maskctl::test {

/// True if `says` holds of some steps that make the plane but for few cells. What is found first
/// depends on how the plane is stored. What was found is kept for the next sentence of the plane.
template <typename Says>
bool any_rule_of(const PlanePtr& plane, const Says& says) {
  constexpr Index kFewCells = 4;
  static std::map<std::pair<Index, std::vector<std::uint8_t>>, std::vector<Recognised>> known;
  if (known.size() > 64) known.clear();
  const twin::Dense cells = twin::dense_of(*plane);
  std::vector<Recognised>& found = known[{cells.k, cells.cells}];
  for (std::size_t i = 0; i < 6; ++i) {
    if (i == found.size()) {
      const PlanePtr form = i < 2   ? recognition::compacted(plane, 0)
                            : i < 4 ? plane
                                    : twin::plane_of_matrix(cells);
      found.push_back(recognise(Mask(form), {.guess = i % 2 == 1}));
    }
    if (found[i].residue.cells <= kFewCells && says(found[i].chain)) return true;
  }
  return false;
}

}  // namespace maskctl::test
