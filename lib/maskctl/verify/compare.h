// What the checks of verify share: comparing arrays element by element, and making the arguments of
// the calls that are compared; private to verify.
#pragma once

#include <span>
#include <string>

#include "maskctl/verify/request.h"

namespace maskctl::attention {

/// How far an array is from the expected one.
struct Distance {
  Index bad = 0;      // elements outside the tolerance
  double worst = 0;   // largest finite error
  std::string first;  // the first bad element, as in "(0, 2, 1): 0.5 instead of 0.25"
};
/// Compares two arrays. Throws Error(kShape) if their shapes differ.
Distance distance(const Tensor& seen, const Tensor& expected, const Tolerance& tolerance);

/// The largest magnitude of the finite numbers; 0 if there are none.
double largest_finite(std::span<const double> values);

bool is_gradient(const std::string& name);

/// Checks the gradients, or all other results, that `seen` and `expected` both have.
VerifyCheck compare_results(const std::string& name, const NamedResults& seen,
                            const NamedResults& expected, bool gradients,
                            const std::optional<Tolerance>& tolerance);

bool same_bits(const Tensor& a, const Tensor& b);

/// The arguments without cotangents and without a seed for them, so that no gradients are computed.
NamedArguments without_gradients(NamedArguments arguments);

/// Sets all elements of row n of an array of floats; rows run along the last axis.
void fill_row(Tensor& tensor, Index n, float value);

}  // namespace maskctl::attention
