// Arrays compared element by element, and arguments changed; private to verify.
#pragma once

#include <span>
#include <string>

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

/// How far an array is from the expected one.
struct Distance {
  Index bad = 0;      // elements outside the tolerance
  double worst = 0;   // largest error that is finite
  std::string first;  // "(0, 2, 1): 0.5 instead of 0.25" of the first bad element
};
/// Throws Error(kShape) for shapes that differ.
Distance distance(const Tensor& seen, const Tensor& expected, const Tolerance& tolerance);

/// The largest magnitude of a finite number; 0 without any.
double largest_finite(std::span<const double> values);

bool is_gradient(const std::string& name);

/// One check of the arrays that both have: the gradients, or the others.
VerifyCheck compare_results(const std::string& name, const NamedResults& seen,
                            const NamedResults& expected, bool gradients,
                            const std::optional<Tolerance>& tolerance);

bool same_bits(const Tensor& a, const Tensor& b);

/// The call without a request for gradients.
NamedArguments without_gradients(NamedArguments arguments);

/// Sets row n of an array of floats; rows run along the last axis.
void fill_row(Tensor& tensor, Index n, float value);

}  // namespace maskctl::attention
