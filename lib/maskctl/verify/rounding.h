// How much rounding to expect in results that were made elsewhere; private to verify.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/verify/call_variants.h"

namespace maskctl::attention {

/// The relative error of f32 sums of many products, and of the exponential: a few roundings.
inline constexpr double kSums = 4 * 0x1p-24;

/// The least variance of an element. It is less than float32 resolves at its smallest numbers of
/// full precision, and above 0, because misfits are divided by it.
inline constexpr double kLeastVariance = 1e-75;

/// The variance that rounding causes in an element of a row: by errors of the element alone, and by
/// errors that all elements of the row share.
struct RowNoise {
  double sums = 0;  // the share of `own` that comes from f32 sums
  double own = 0;   // from errors of single elements; ArrayNoise::relative is not counted here
  // The variance from rounded weights: an error along the value vectors of the heaviest keys, and
  // so in few directions.
  double weights = 0;
  double directions = 1;
  // The variance from the rounded sum(out * d_out), which shifts a row of a gradient as a whole.
  double delta = 0;

  double all() const { return own + weights + delta; }
  /// How many independent normal numbers have a mean square that scatters as much as that of
  /// `length` elements of the row. `relative`: the variance that is relative to the elements.
  double freedom(double relative, double length) const;
};

/// The noise in the rows of one result.
struct ArrayNoise {
  std::vector<RowNoise> rows;
  double relative = 0;  // variance divided by the square of the element
  /// The square of the change that a cell of weight 1 makes in an element; 0: not known.
  double cell = 0;
  double floor = 0;     // variance that every element has
  double weighted = 0;  // variance from rounded weights, divided by RowNoise's `size` (see row())
  bool is_lse = false;

  /// The noise of a row whose elements have the mean square `size`, or `spread` with random signs
  /// of the values.
  RowNoise row(double size, double spread) const;
};

/// Estimates the rounding in the results of one call.
class Rounding {
 public:
  /// `declared`: the results of the call by the fast path in f32. `inputs`: the relative error of
  /// the coarsest array that the kernel multiplied, if it is more than the arrays show.
  Rounding(const VerifyRequest& request, const NamedResults& given, const NamedResults& declared,
           const CallVariants& variants, double inputs = 0);

  /// The assumed relative error of one rounding of the inputs, and whether it is more than the
  /// arrays show.
  double inputs() const { return inputs_; }
  bool is_supposed() const { return supposed_; }

  /// The noise of a result whose rows have `length` elements.
  ArrayNoise of(const std::string& name, const Tensor& given, std::span<const double> declared,
                Index length) const;

 private:
  Tensor delta_errors(const NamedResults& declared) const;

  const VerifyRequest& request_;
  bool supposed_;
  double inputs_, stored_;  // largest relative error of one rounding, of inputs and of results
  double values_ = 0;       // mean square of the values
  double gradients_ = 0;    // largest mean square of a gradient
  /// Results for values with random signs, to which the errors from rounded weights are
  /// proportional.
  std::optional<NamedResults> weights_;
  std::optional<NamedResults> delta_;  // the change of gradients by an error in each row's delta
};

inline double square(double x) { return x * x; }
/// The value that the mean of `freedom` squared normal numbers exceeds as rarely as one normal
/// number exceeds `deviations` standard deviations (Wilson, Hilferty).
double rare_mean_square(double freedom, double deviations);
/// The median, or the larger of the two middle values; 0 if there are none.
double median(std::vector<double> values);
/// The mean square of the finite values; 0 if there are none.
double mean_square(std::span<const double> values);
std::vector<double> doubles_of(const Tensor& tensor);

}  // namespace maskctl::attention
