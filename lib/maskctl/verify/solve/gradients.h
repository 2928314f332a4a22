// The gradients of queries as equations in the open keys of a row; private to solve.
#pragma once

#include <span>
#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/verify/verify.h"

namespace maskctl::attention::solving {

/// How a float dtype rounds: the distance between neighbouring numbers from 1 on, and the least
/// such distance.
struct FloatSteps {
  static FloatSteps of(const Tensor& tensor);
  /// The variance of the error of rounding x.
  double variance(double x) const;

  double step = 0, least = 0;
};

/// Converts an array [B,T,H,D] or, if `heads_first`, [B,H,T,D] to [B,H,T,D] in float64.
std::vector<double> by_heads(const Tensor& tensor, bool heads_first);
/// The squared length of each vector of `dim` numbers.
std::vector<double> squares_of(const std::vector<double>& vectors, Index dim);

/// A row with output o, cotangent d of o, weights p and query q has the gradient
///   dq = scale sum_j p_j c_j (d . v_j - d . o + d_lse) k_j
/// where c_j is the slope of a soft cap. So dq is a weighted sum like the output, with the same
/// weights p_j, in which k_j times a factor stands for v_j. The factor does not depend on the mask.
struct GradientFactors {
  std::vector<double> factors;  // [rows, Tk]: scale c_j (d . v_j - d . o + d_lse)
  std::vector<double> sizes;    // [rows, Tk]: the size of a factor before its terms cancel
  /// [rows, Tk]: by how much each factor changes for each unit of error in d . o
  std::vector<double> slopes;
  std::vector<double> shifts;  // [rows]: the variance of the error of d . o
};

/// The gradients of the queries of a call, and the cotangents that they belong to.
struct QueryGradients {
  /// Throws Error(kInvalidArgument) "the mask cannot be told: ..." without cotangents, and
  /// Error(kShape) for shapes that do not fit the call.
  QueryGradients(const VerifyRequest& request, const NamedResults& given, const Dims& d,
                 const std::vector<double>& keys);

  std::vector<double> given;        // [B,H,Tq,D]: the gradients
  std::vector<double> d_out;        // [B,H,Tq,Dv]: the cotangents of the output
  std::vector<double> d_lse;        // [B,H,Tq]: the cotangents of lse; empty if there are none
  std::vector<double> key_squares;  // [B,Hkv,Tk]: squared lengths of the keys
  std::vector<double> none;         // [D]: the gradient of a row without keys
  FloatSteps steps;
};

/// Throws Error(kInvalidArgument) "the mask cannot be told: `why`".
[[noreturn]] void untold(const std::string& why);

}  // namespace maskctl::attention::solving
