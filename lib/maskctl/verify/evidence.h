// Sums over rows that show whether the rows are those of the declared call or of a candidate;
// private to verify.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "maskctl/verify/residuals.h"

namespace maskctl::attention {

/// The log-likelihood ratio from which one of two masks is rejected: odds of 3 million to 1.
inline constexpr double kDecisive = 15;
/// How far share() may be from 0 (results of the declared mask) or 1 (results of the alternative)
/// for a mask that fits, in addition to six standard errors, because kernels have small systematic
/// errors.
inline constexpr double kShareSlack = 0.1;
/// With at least this many rows, error() also takes a standard error from the scatter between rows.
inline constexpr std::size_t kClustered = 8;

/// Sums over the rows in which the results under the declared mask and under a candidate differ.
struct Evidence {
  double along = 0, squared = 0;
  std::vector<const RowResidual*> rows;
  /// Numbers of rows whose misfit is infinite, because of wrong NaN or infinities: under the
  /// declared mask only, and under the alternative only.
  Index broken_declared = 0, broken_other = 0;

  void add(const RowResidual& row, double declared_misfit) {
    rows.push_back(&row);
    along += row.along;
    squared += row.squared;
    if (std::isinf(declared_misfit) && !std::isinf(row.misfit)) ++broken_declared;
    if (std::isinf(row.misfit) && !std::isinf(declared_misfit)) ++broken_other;
  }
  double share() const { return squared > 0 ? along / squared : 0; }
  /// The standard error of share(): the larger of two estimates, from the squared noise `noise` and
  /// from the scatter between rows.
  double error(double noise) const {
    if (squared <= 0) return std::numeric_limits<double>::infinity();
    double scatter = 0;
    if (rows.size() >= kClustered) {
      const double a = share();
      for (const RowResidual* row : rows) {
        scatter += std::pow(row->along - a * row->squared, 2);
      }
    }
    return std::max(std::sqrt(noise / squared), std::sqrt(scatter) / squared);
  }
  /// The log-likelihood ratio of the two masks: above 0, the alternative is likelier than the
  /// declared mask.
  double ratio(double noise) const {
    if (broken_declared != broken_other) {
      return broken_declared > broken_other ? 2 * kDecisive : -2 * kDecisive;
    }
    if (squared <= 0) return 0;
    return (2 * share() - 1) / (2 * std::pow(error(noise), 2));
  }
  bool near(double expected, double noise) const {
    return broken_declared + broken_other > 0 || squared <= 0 ||
           std::abs(share() - expected) <= kShareSlack + 6 * error(noise);
  }
};

}  // namespace maskctl::attention
