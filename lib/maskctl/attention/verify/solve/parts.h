// Answers of rows put together to a mask; private to solve.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/attention/verify/solve/row_solver.h"
#include "maskctl/attention/verify/solve/solve.h"
#include "maskctl/mask/plane.h"

namespace maskctl::attention::solving {

/// A row at one place of the supposed mask, or some heads of it that are by themselves.
struct RowPart {
  /// `answer`: absent where the row is not solved.
  void take(const OpenKeys& supposed, const std::optional<RowAnswer>& answer);

  Index b = 0, h = 0, row = 0;
  std::vector<Head> heads;  // empty: all that share the place
  std::vector<Run> flipped = {}, light = {}, alike = {}, unsolved = {};

  bool says_nothing() const {
    return heads.empty() && flipped.empty() && light.empty() && alike.empty() && unsolved.empty();
  }
};

/// The supposed mask with what rows have found; rows that are not among the parts are as supposed.
SolvedMask assembled(const Mask& supposed, const Dims& dims, std::vector<RowPart>& parts);

}  // namespace maskctl::attention::solving
