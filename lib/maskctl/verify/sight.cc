#include "maskctl/verify/sight.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace maskctl::attention {

Sight sight_of(const Residuals& residuals, const RowLimits& limits) {
  std::map<std::size_t, Sight> of_array;
  for (Index row = 0; row < residuals.rows(); ++row) {
    if (residuals.cell_misfit(row) == 0 || limits.is_left_out(row)) continue;
    Sight& sight = of_array[residuals.position(row).array];
    const double weight = std::sqrt(limits.most_misfit(row) / residuals.cell_misfit(row));
    const bool blind = !(weight < 1);
    sight.least = std::max(sight.least, blind ? std::numeric_limits<double>::infinity() : weight);
    ++sight.rows;
    sight.blind += blind;
  }
  Sight best{std::numeric_limits<double>::infinity(), 0, 0};
  for (const auto& [array, sight] : of_array) {
    if (best.rows == 0 || sight < best) best = sight;
  }
  return best;
}

}  // namespace maskctl::attention
