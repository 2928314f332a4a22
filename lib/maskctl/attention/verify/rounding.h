// How much rounding is expected in results that were made elsewhere; private to verify.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/attention/verify/call_variants.h"

namespace maskctl::attention {

/// f32 sums of many products and the exponential: a few roundings.
inline constexpr double kSums = 4 * 0x1p-24;

/// The variance that rounding gives an element of a row: errors of its own, and errors that it
/// shares with the rest of the row.
struct RowNoise {
  double sums = 0;     // the part of `own` that comes from f32 sums
  double own = 0;      // independent for each element, without what is relative to the element
  double weights = 0;  // by rounded weights; along few directions, those of the values
  double directions = 1;
  double delta = 0;  // by the rounded sum(out * d_out), which moves a row of a gradient as a whole

  double all() const { return own + weights + delta; }
  /// How many independent normal numbers have a sum of squares that scatters as that of `length`
  /// elements of the row does; `relative`: the variance that is relative to the elements.
  double freedom(double relative, double length) const;
};

/// The noise in the rows of one result.
struct ArrayNoise {
  std::vector<RowNoise> rows;
  double relative = 0;  // relative to the element, squared
  /// What a cell of weight 1 changes in an element, squared: 0 where that is not known.
  double cell = 0;
};

/// What the roundings of one call are measured by.
class Rounding {
 public:
  /// `declared`: the results of the call on the fast path in f32.
  Rounding(const VerifyRequest& request, const NamedResults& given, const NamedResults& declared,
           const CallVariants& variants);

  /// The noise of a result in rows of `length`.
  ArrayNoise of(const std::string& name, const Tensor& given, std::span<const double> declared,
                Index length) const;

 private:
  Tensor delta_errors(const NamedResults& declared) const;

  const VerifyRequest& request_;
  double inputs_, stored_;  // largest errors of one rounding, relative to the value
  double values_ = 0;       // mean square of the values
  double gradients_ = 0;    // mean square of the largest gradient
  /// Results with values of random signs: as large as what rounding of weights does.
  std::optional<NamedResults> weights_;
  std::optional<NamedResults> delta_;  // gradients of an error in each row's delta
};

inline double square(double x) { return x * x; }
/// The mean of `freedom` squares of normal numbers that is exceeded as rarely as one normal number
/// exceeds so many standard deviations (Wilson, Hilferty).
double rare_mean_square(double freedom, double deviations);
/// The middle one, or the larger of both; 0 of none.
double median(std::vector<double> values);
/// The mean square of the finite values.
double mean_square(std::span<const double> values);
std::vector<double> doubles_of(const Tensor& tensor);

}  // namespace maskctl::attention
