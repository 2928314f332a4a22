// Assembles the answers for rows into a mask; private to solve.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/verify/solve/row_solver.h"
#include "maskctl/verify/solve/solve.h"

namespace maskctl::attention::solving {

/// What was found for one row of plane (b, h) of the supposed mask, for all heads that share the
/// plane or only for the heads in `heads`.
struct RowPart {
  /// Stores the answer for the row. No answer: the row is not solved.
  void take(const OpenKeys& supposed, const std::optional<RowAnswer>& answer);

  Index b = 0, h = 0, row = 0;
  std::vector<Head> heads;        // empty: all heads of the plane
  std::vector<Run> flipped = {};  // decided keys that differ from the supposed mask
  std::vector<Run> guessed = {};  // undecided keys that the search left unlike the supposed mask
  std::vector<Run> light = {}, alike = {}, unsolved = {};

  bool says_nothing() const {
    return heads.empty() && flipped.empty() && light.empty() && alike.empty() && unsolved.empty();
  }
};

/// Returns the supposed mask with the changes that were found. Rows without a part stay as
/// supposed.
SolvedMask assembled(const Mask& supposed, const Dims& dims, std::vector<RowPart>& parts);

}  // namespace maskctl::attention::solving
