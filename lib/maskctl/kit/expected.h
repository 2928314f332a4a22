// What a case must give, in float64 and plain loops: the formulas of rules.h as they stand; and how
// far a sound kernel may be from it.
#pragma once

#include "maskctl/kit/made_case.h"

namespace maskctl::kit {

/// A result of f64, and how far each element may be off.
struct Bounded {
  Tensor values, tolerance;
};

/// A query without a key and without sinks has out 0 and lse minus infinity.
///
/// An element is a sum of terms t, such as weight times value, or an lse, whose terms are weight
/// times logit. It may be off by
///   kResult u |element| + kTerms u sqrt(sum of t^2) + kSums 2^-24 (sqrt(D) + sqrt(n)) sum of |t|
/// where u is half the distance from 1 to the next number of the dtype: a rounding of the result,
/// one of each term (weights in a lower precision, say), and sums of D and of n products in
/// float32. n is the depth: how many terms there are. A term counts 1 + |logit| times, since its
/// weight is off as its logit is, and one of a gradient with what it is a difference of.
/// tests/kit/tolerance_test.cc measures the factors.
struct Expected {
  Bounded out;  // [B,Q,Hq,Dv]
  Bounded lse;  // [B,Hq,Q]
  /// For the loss sum(out * cotangent_out); absent where the case has no cotangent.
  std::optional<Bounded> grad_query, grad_key, grad_value;  // as query, key and value
  Index depth = 0;                                          // the most keys that a query sees
};
Expected expected(const MadeCase& made);

inline constexpr double kResult = 2, kTerms = 4, kSums = 8;

}  // namespace maskctl::kit
