// How well results show the state of single cells; private to verify.
#pragma once

#include <tuple>

#include "maskctl/verify/residuals.h"
#include "maskctl/verify/row_limits.h"

namespace maskctl::attention {

/// How well one array of results shows the state of single cells.
struct Sight {
  double least = 0;  // the weight that is needed in the worst row; infinite if that is not known
  Index rows = 0, blind = 0;  // in how many of them no weight is enough
  bool operator<(const Sight& other) const {
    return std::tie(blind, least) < std::tie(other.blind, other.least);
  }
};

/// The Sight of the array with the fewest blind rows, then with the least weight needed.
Sight sight_of(const Residuals& residuals, const RowLimits& limits);

}  // namespace maskctl::attention
