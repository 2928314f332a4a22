// Answers of rows put together to a mask; private to solve.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/attention/verify/solve/row_solver.h"
#include "maskctl/attention/verify/solve/solve.h"
#include "maskctl/mask/plane.h"

namespace maskctl::attention::solving {

/// What was found for a row of one plane of the supposed mask, or for some of its heads alone.
struct RowPart {
  /// Takes the answer of the row; absent: the row is not solved.
  void take(const OpenKeys& supposed, const std::optional<RowAnswer>& answer);

  Index b = 0, h = 0, row = 0;
  std::vector<Head> heads;  // empty: all heads of the plane
  std::vector<Run> flipped = {}, light = {}, alike = {}, unsolved = {};

  bool says_nothing() const {
    return heads.empty() && flipped.empty() && light.empty() && alike.empty() && unsolved.empty();
  }
};

/// The supposed mask, changed by what was found in rows; rows without a part stay as supposed.
SolvedMask assembled(const Mask& supposed, const Dims& dims, std::vector<RowPart>& parts);

}  // namespace maskctl::attention::solving
