#include "maskctl/verify/row_limits.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace maskctl::attention {
namespace {

/// A row does not fit a mask if its misfit (RowResidual::misfit, a squared error) is more than
/// kOutlier^2 times the squared noise of most rows.
constexpr double kOutlier = 30;
/// A tighter limit for rows of 16-bit results, unless the squared noise exceeds kModelled times
/// what the error model (rounding.h) expects: kSlack times the misfit that chance exceeds as rarely
/// as kRareDeviations standard deviations (once in a billion rows). Gradients have kGradientSlack
/// instead of kSlack, since they sum more roundings than the model counts, and noise that is fitted
/// to the results has kSupposedSlack, since the noise of a row then depends on the sizes of its
/// logits too. In f32 there is no such limit, because large logits make some rows much noisier than
/// others.
constexpr double kModelled = 4, kRareDeviations = 6, kSlack = 1.5, kGradientSlack = 4,
                 kSupposedSlack = 12;
/// Rows outside the tolerance still fit a mask if all rows are about as noisy: if the noise of most
/// rows is at most kNoisy times what the error model expects, and the row's misfit is at most
/// kAlike^2 times their squared noise.
constexpr double kNoisy = 16, kAlike = 6;
/// The least squared noise of results that is assumed, as a multiple of the squared rounding noise
/// that the error model (rounding.h) expects. Results may be exact and show no noise.
constexpr double kLeastNoise = 0.05;

}  // namespace

RowLimits::RowLimits(const Residuals& residuals, const std::vector<Tried>& tried,
                     std::vector<bool> left_out)
    : residuals_(residuals), left_out_(std::move(left_out)), noise_(estimate(tried)) {}

double RowLimits::estimate(const std::vector<Tried>& tried) const {
  std::vector<double> misfits;
  for (Index row = 0; row < residuals_.rows(); ++row) misfits.push_back(residuals_.misfit(row));
  const auto kept = [this](const std::vector<double>& of_rows) {
    std::vector<double> out;
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (!is_left_out(row)) out.push_back(of_rows[as_size(row)]);
    }
    return median(std::move(out));
  };
  double least = kept(misfits);
  for (const Tried& candidate : tried) {
    std::vector<double> others = misfits;
    for (const RowResidual& row : candidate.rows) others[as_size(row.row)] = row.misfit;
    least = std::min(least, kept(others));
  }
  return std::isfinite(least) ? std::max(least, kLeastNoise) : 1;
}

bool RowLimits::is_off(Index row, double misfit, bool off) const {
  if (is_left_out(row)) return false;
  const bool as_the_rest = noise_ <= kNoisy * kNoisy && misfit <= kAlike * kAlike * usual();
  return (off && !as_the_rest) || misfit > most_misfit(row);
}

double RowLimits::most_misfit(Index row) const {
  const double most = kOutlier * kOutlier;
  if (noise_ > kModelled || !residuals_.rounds_to_16_bits(row)) return most * usual();
  const double slack = residuals_.supposes_noise()       ? kSupposedSlack
                       : residuals_.cell_misfit(row) > 0 ? kSlack
                                                         : kGradientSlack;
  return std::min(most, slack * rare_mean_square(residuals_.freedom(row), kRareDeviations)) *
         usual();
}

}  // namespace maskctl::attention
