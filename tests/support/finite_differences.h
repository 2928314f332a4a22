// Checks gradients of a function by central differences of its values.
#pragma once

#include "support/tensors.h"

namespace maskctl::test {

/// Returns the sum of a[i] b[i] over all i, computed in float64.
inline double dot(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const Tensor x = astype(a, DType::kFloat64), y = astype(b, DType::kFloat64);
  double sum = 0;
  for (std::size_t i = 0; i < x.as<double>().size(); ++i)
    sum += x.as<double>()[i] * y.as<double>()[i];
  return sum;
}

struct FiniteDifferences {
  float step = 1.0f / 64;  // exact enough if f computes in float64
  double margin = 0.01, epsilon = 0.01;
  std::size_t elements = 7;  // how many elements of the array are checked, about
};

/// Checks that gradient[i] is about (f(x[i] + step) - f(x[i] - step)) / (2 step) for some elements
/// x[i] of an f32 array. f reads the array, whose elements are changed and restored.
template <class F>
void check_finite_differences(Tensor& array, const Tensor& gradient, F&& f, const char* what,
                              const FiniteDifferences& how = {}) {
  REQUIRE(array.shape() == gradient.shape());
  const auto x = array.as<float>();
  for (std::size_t i = 0; i < x.size(); i += 1 + x.size() / how.elements) {
    const float middle = x[i];
    x[i] = middle + how.step;
    const double up = f(), above = static_cast<double>(x[i]);
    x[i] = middle - how.step;
    const double down = f(), below = static_cast<double>(x[i]);
    x[i] = middle;
    INFO(what << "[" << i << "]");
    CHECK(static_cast<double>(gradient.as<float>()[i]) ==
          Approx((up - down) / (above - below)).margin(how.margin).epsilon(how.epsilon));
  }
}

}  // namespace maskctl::test
