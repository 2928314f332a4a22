// Which rows of results fit a mask: how noisy the results are, and how far a row may be off;
// private to verify.
#pragma once

#include <vector>

#include "maskctl/verify/judge_rows.h"
#include "maskctl/verify/residuals.h"

namespace maskctl::attention {

/// The limits for the rows of one call's results. Misfits are squared errors in units of the noise
/// that the error model expects (RowResidual::misfit).
class RowLimits {
 public:
  /// `left_out`: rows that are not judged; empty: all are.
  RowLimits(const Residuals& residuals, const std::vector<Tried>& tried,
            std::vector<bool> left_out);

  /// The squared noise of the results: the median misfit of all rows, under the mask for which this
  /// median is smallest.
  double noise() const { return noise_; }
  bool leaves_out() const { return !left_out_.empty(); }
  bool is_left_out(Index row) const { return leaves_out() && left_out_[as_size(row)]; }
  /// Whether the row can tell a candidate from the declared mask: rows of zeros and of NaN fit too
  /// many masks.
  bool tells(Index row) const { return !is_left_out(row) && residuals_.blank(row) == Blank::kNo; }

  /// Whether a row does not fit a mask. `misfit` and `off` (outside the tolerance) are those of the
  /// row under this mask. A row outside the tolerance may still fit if all rows are about as noisy,
  /// as with kernels that round their logits. A row whose misfit exceeds most_misfit() never fits.
  bool is_off(Index row, double misfit, bool off) const;
  bool declared_off(Index row) const {
    return is_off(row, residuals_.misfit(row), residuals_.off(row));
  }
  double most_misfit(Index row) const;

 private:
  double estimate(const std::vector<Tried>& tried) const;
  double usual() const { return noise_ > 1 ? noise_ : 1; }

  const Residuals& residuals_;
  std::vector<bool> left_out_;
  double noise_;
};

}  // namespace maskctl::attention
