// The gradients of queries as equations in the open keys of a row; private to solve.
#pragma once

#include <span>
#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention::solving {

/// The rounding to a float: the step at 1, and the least step.
struct FloatSteps {
  static FloatSteps of(const Tensor& tensor);
  /// The variance of rounding x.
  double variance(double x) const;

  double step = 0, least = 0;
};

/// [B,T,H,D] or [B,H,T,D] as [B,H,T,D] in float64.
std::vector<double> by_heads(const Tensor& tensor, bool heads_first);
/// The square of each vector of `dim` numbers.
std::vector<double> squares_of(const std::vector<double>& vectors, Index dim);

/// With the cotangent d of the output o of a row, its weights p and its query q,
///   dq = scale sum_j p_j c_j (d . v_j - d . o + d_lse) k_j
/// where c_j is the slope of a soft cap. So dq is the mean, by the weights of the output, of k_j
/// times a factor that does not depend on the mask.
struct GradientFactors {
  std::vector<double> factors;  // [rows, Tk]
  std::vector<double> sizes;    // [rows, Tk]: what of them is rounded: terms that cancel
  std::vector<double> slopes;   // [rows, Tk]: what an error of d . o changes in them
  std::vector<double> shifts;   // [rows]: the variance of that error
};

/// The gradients of the queries of a call, and the cotangents that they are of.
struct QueryGradients {
  /// Throws Error(kInvalidArgument) "the mask cannot be told: ..." without cotangents,
  /// Error(kShape) for other shapes than the call's.
  QueryGradients(const VerifyRequest& request, const NamedResults& given, const Dims& d,
                 const std::vector<double>& keys);

  std::vector<double> given;        // [B,H,Tq,D]
  std::vector<double> d_out;        // [B,H,Tq,Dv]
  std::vector<double> d_lse;        // [B,H,Tq]; empty: none
  std::vector<double> key_squares;  // [B,Hkv,Tk]
  std::vector<double> none;         // [D]: the gradient of a row without keys
  FloatSteps steps;
};

/// Throws Error(kInvalidArgument) "the mask cannot be told: `why`".
[[noreturn]] void untold(const std::string& why);

}  // namespace maskctl::attention::solving
